// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory/convolution_memory.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "riesz/app/memory/one_bit_adam_memory.h"
#include "riesz/app/memory/state_bytes.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/nn/layers/linear.h"
#include "riesz/nn/means_parameter.h"
#include "riesz/nn/spatial/batch_norm.h"
#include "riesz/nn/spatial/conv.h"
#include "riesz/nn/spatial/pool.h"
#include "riesz/nn/spatial/spectral_convolution.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/schedule/under_way.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/zero/zero.h"

namespace riesz::app {
namespace {

constexpr double kFull = 4;   // bytes of fp32
constexpr double kIndex = 8;  // bytes of a position in a window

double in_type(const Config& config) { return config.precision == "fp32" ? kFull : 2; }

/// The first worker's shape of a vector with so many images; no worker has more.
std::vector<std::int64_t> shape_on_a_rank(const Space& S, std::int64_t images) {
  std::vector<std::int64_t> shape = S.shape();
  for (std::int64_t& extent : shape) extent = extent == Space::any ? images : extent;
  return S.with_shape(shape).local_shape(0);
}

double product_of(const std::vector<std::int64_t>& shape) {
  double product = 1;
  for (const std::int64_t extent : shape) product *= static_cast<double>(extent);
  return product;
}

double on_a_rank(const Space& S, std::int64_t images) { return product_of(shape_on_a_rank(S, images)); }

/// What a convolution reads: a spatial dim that is shared out with its halo and its padding.
double read_on_a_rank(const Conv& conv, std::int64_t images) {
  const Space &X = *conv.domain(), &Y = *conv.range();
  std::vector<std::int64_t> shape = shape_on_a_rank(X, images);
  const std::vector<std::int64_t> outputs = shape_on_a_rank(Y, images);
  for (std::size_t i = 2; i < shape.size(); ++i) {
    if (shape[i] == X.shape()[i]) continue;
    const std::int64_t stride = (X.shape()[i] + Y.shape()[i] - 1) / Y.shape()[i];
    shape[i] = (outputs[i] - 1) * stride + conv.weight().shape()[i];
  }
  return product_of(shape);
}

bool is_shortcut(const Module& module) { return module.path().find(".shortcut.") != std::string::npos; }

/// Does it read what another module reads too, in the same memory? So do a shortcut and, unless it has a
/// halo, the convolution of a skip.
bool reads_as_another(const Conv& conv, std::int64_t images) {
  const bool skip = conv.path().ends_with(".skipped");
  return is_shortcut(conv) || (skip && read_on_a_rank(conv, images) == on_a_rank(*conv.domain(), images));
}

/// Of a spectral convolution: the frequencies that it keeps, and the four parts of their products, in fp32.
double frequencies_on_a_rank(const SpectralConvolution& of, std::int64_t images) {
  const Space& X = *of.domain();
  std::vector<std::int64_t> shape = X.shape();
  const std::vector<std::int64_t>& kept = of.parameters().front().shape();
  for (std::size_t dim = 2; dim < shape.size(); ++dim) shape[dim] = kept[dim];
  return 6 * kFull * on_a_rank(X.with_shape(shape), images);
}

/// What a linear layer reads, and the activation behind it. In a Fourier neural operator most read what an
/// activation gives, which is made again from what that was given: a block's sum, or what goes up.
double kept_of_linear(const Module& linear, std::int64_t images) {
  const std::string path = linear.path();
  const bool made_again =
      path.starts_with("projection.") || (path.ends_with(".pointwise") && path != "block.0.pointwise");
  const double read = made_again ? 0 : on_a_rank(*linear.domain(), images);
  return read + (path == "projection.up" ? on_a_rank(*linear.range(), images) : 0);
}

/// The bytes that are kept for backward: what convolutions, poolings and linear layers read; of a pooling
/// also where its elements were found; of a norm what lies around the mean, in fp32, and what its activation
/// reads. The activation behind a shortcut reads one sum for both, and so does that behind a spectral
/// convolution.
double kept_for_backward(const Module& module, std::int64_t images, double bytes) {
  if (const auto* conv = dynamic_cast<const Conv*>(&module))
    return reads_as_another(*conv, images) ? 0 : bytes * read_on_a_rank(*conv, images);
  if (const auto* spectral = dynamic_cast<const SpectralConvolution*>(&module))
    return frequencies_on_a_rank(*spectral, images) + bytes * on_a_rank(*module.range(), images);
  if (dynamic_cast<const MaxPool*>(&module) != nullptr)
    return bytes * on_a_rank(*module.domain(), images) + kIndex * on_a_rank(*module.range(), images);
  if (dynamic_cast<const Linear*>(&module) != nullptr) return bytes * kept_of_linear(module, images);
  if (dynamic_cast<const BatchNorm*>(&module) != nullptr)
    return (kFull + (is_shortcut(module) ? 0 : bytes)) * on_a_rank(*module.range(), images);
  double sum = 0;
  for (const Module* part : module.parts()) sum += kept_for_backward(*part, images, bytes);
  return sum;
}

/// What a module is given: what its first part with a domain reads.
double given(const Module& module, std::int64_t images) {
  if (module.domain()) return on_a_rank(*module.domain(), images);
  return module.parts().empty() ? 0 : given(*module.parts().front(), images);
}

/// What stages share out.
struct Block {
  const Module* module;
  bool again = false;     ///< does it run again in backward?
  bool repeated = false;  ///< may what it saves lie elsewhere?
};

/// The model's blocks in the order of calls. Residual blocks are counted in the whole model, as
/// `set_recompute` does.
std::vector<Block> blocks_of(const Config& config, const Module& model) {
  std::vector<Block> blocks;
  const auto add_repeated = [&](const std::vector<Module*>& repeated) {
    const auto every = static_cast<std::size_t>(config.layout.recompute_every);
    for (std::size_t i = 0; i < repeated.size(); ++i)
      blocks.push_back({repeated[i], config.layout.recompute == "blocks" && i % every == 0, true});
  };
  if (model.is_repeated()) {
    add_repeated(model.parts());
    return blocks;
  }
  for (const Module* part : model.parts()) {
    if (part->is_repeated())
      add_repeated(part->parts());
    else
      blocks.push_back({part});
  }
  return blocks;
}

/// The blocks of a worker, and the micro-batches that it keeps at most.
struct Share {
  std::vector<Block> blocks;
  double under_way = 1;
};

std::vector<Share> shares_of(const Config& config, const Module& model) {
  const std::vector<Block> blocks = blocks_of(config, model);
  if (config.layout.pp == 1) return {Share{blocks}};
  const Schedule table = pipeline_schedule(config);
  const Split split = Split::balanced(static_cast<std::int64_t>(blocks.size()), table.chunks());
  std::vector<Share> shares;
  for (const int chunks : under_way(table).activations)
    shares.push_back({{}, static_cast<double>(chunks * table.workers()) / table.chunks()});
  for (int chunk = 0; chunk < table.chunks(); ++chunk) {
    Share& share = shares[static_cast<std::size_t>(table.worker_of[static_cast<std::size_t>(chunk)])];
    for (std::int64_t i = split[chunk].begin; i < split[chunk].end; ++i)
      share.blocks.push_back(blocks[static_cast<std::size_t>(i)]);
  }
  return shares;
}

/// Elements of a rank's parameters.
struct Elements {
  double trained = 0, untrained = 0;
  double rows_and_columns = 0;  ///< Adafactor's, of the trained ones
  double largest_unit = 0;      ///< of those that ZeRO gathers, trained
  double kept_units = 0;        ///< that stay gathered
};

/// The unit of ZeRO that a parameter of this name is in: "stages.1" of "stages.1.layers.0.weight", as a
/// numbered part is one, else its module.
std::string unit_of(const std::string& name) {
  for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", dot + 1), name.size());
    if (end > dot + 1 && (end == name.size() || name[end] == '.')) return name.substr(0, end);
  }
  return name.substr(0, name.rfind('.'));
}

Elements elements_of(const Config& config, const Share& share) {
  std::vector<std::string> frozen;
  std::istringstream words(config.train.frozen);
  for (std::string word; words >> word;) frozen.push_back(word);
  Elements all;
  std::map<std::string, double> units;
  for (const Block& block : share.blocks) {
    for (const Parameter& each : block.module->parameters()) {
      const double n = on_a_rank(each.space(), 0);
      const bool trained =
          each.trained() && std::none_of(frozen.begin(), frozen.end(), [&](const auto& pattern) {
            return detail::means_parameter(pattern, each.name());
          });
      (trained ? all.trained : all.untrained) += n;
      if (trained) units[unit_of(each.name())] += n;
      const auto rows = static_cast<double>(each.shape().empty() ? 1 : each.shape().front());
      if (trained)
        all.rows_and_columns +=
            rows + (each.shape().size() > 1 ? static_cast<double>(each.numel()) / rows : 0);
    }
  }
  for (const auto& [name, n] : units) {
    all.largest_unit = std::max(all.largest_unit, n);
    if (n <= static_cast<double>(ZeroOptions{}.keep)) all.kept_units += n;
  }
  return all;
}

double state_of(const Config& config, const Elements& all, double share) {
  if (config.optimizer.kind == "sgd") return config.optimizer.momentum > 0 ? share : 0;
  return config.optimizer.kind == "adafactor" ? all.rows_and_columns : 2 * share;
}

void add_state(MemoryEstimate& e, const Config& config, const Elements& all, double team) {
  const std::int64_t stage = team > 1 ? config.layout.zero : 0;
  const double share = std::ceil(all.trained / team);
  const auto from = [&](std::int64_t first) { return stage >= first ? share : all.trained; };
  e.parameters = (from(3) + all.untrained) * in_type(config);
  e.gradients = from(2) * kFull;
  const double masters = config.precision == "fp32" ? 0 : from(1);
  const double errors = errors_to_send(config.optimizer, all.trained, team);
  const StateBytes of_state = state_by_place(config, state_of(config, all, from(1)) * kFull, masters * kFull);
  e.elsewhere = of_state.elsewhere;
  e.optimizer =
      of_state.in_memory + errors * kFull + momenta_of_all(config.optimizer, all.trained, config.layout.zero);
  // As of a text's model: two segments of sums on their way; in stage 3 also two units' values.
  const double small = std::min(all.trained, static_cast<double>(ZeroOptions{}.bucket));
  const double unit = stage == 3 ? all.largest_unit : std::max(all.largest_unit, small);
  const double saved = all.trained - share;
  const double segment = std::min(
      {unit, static_cast<double>(ZeroOptions{}.segment), std::max(saved / 8, std::min(65536.0, saved / 2))});
  e.sums = stage >= 2 ? 2 * segment * kFull : 0;
  e.gathered = stage == 3 ? (2 * unit + all.kept_units) * in_type(config) : 0;
  const bool copies = config.checkpoint.save && config.checkpoint.background;
  const bool at_once = config.offload.state != "device";  // all but values is written while it is read
  const double state =
      at_once ? 0 : state_of(config, all, all.trained) + (config.precision == "fp32" ? 0 : all.trained);
  if (copies)
    e.checkpoint = ((all.trained + all.untrained) * in_type(config) + state * kFull) / team + errors * kFull;
}

/// The most that so many neighbours have together.
double most_at_once(const std::vector<double>& all, std::size_t neighbours) {
  double sum = 0, most = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sum += all[i] - (i >= neighbours ? all[i - neighbours] : 0);
    most = std::max(most, sum);
  }
  return most;
}

void add_activations(MemoryEstimate& e, const Config& config, const Share& share) {
  const std::int64_t parts = micro_batches_of(config), images = (config.train.batch + parts - 1) / parts;
  double kept = 0, greatest = 0;
  std::vector<double> elsewhere;  // of blocks that save on a disk
  for (const Block& block : share.blocks) {
    const double all = kept_for_backward(*block.module, images, in_type(config));
    const double saved = block.again ? in_type(config) * given(*block.module, images) : all;
    if (block.repeated && config.offload.activations == "disk")
      elsewhere.push_back(saved);
    else
      kept += saved;
    if (block.again) greatest = std::max(greatest, all);
  }
  const double more = std::max(0.0, share.under_way - 1);
  const auto depth = static_cast<std::size_t>(config.offload.depth);
  e.activations = kept + greatest + most_at_once(elsewhere, 1 + depth);
  e.under_way = more * kept + (more > 0 ? most_at_once(elsewhere, depth) : 0);
  if (!elsewhere.empty())
    e.activations_on_disk +=
        (1 + more) * std::accumulate(elsewhere.begin(), elsewhere.end(), 0.0) - elsewhere.back();
}

}  // namespace

MemoryEstimate estimate_convolution_memory(const Config& config, const Partition& mesh, std::int64_t labels,
                                           double data_bytes) {
  const Layout layout = layout_on(config.layout, config.layout.pp > 1 ? mesh.at("pp", 0) : mesh);
  const auto model = models::make_image_model(layout, image_model_shape(config, labels));
  double team = 1;
  for (const std::string& axis : token_axes(config.layout, layout.mesh)) team *= layout.mesh.extent(axis);
  MemoryEstimate most;
  for (const Share& share : shares_of(config, model->module())) {
    MemoryEstimate e;
    add_state(e, config, elements_of(config, share), team);
    add_activations(e, config, share);
    e.data = data_bytes;
    if (config.data.task == "images")  // else each rank makes its own part, which the first layer reads
      e.data += 2 * kFull * static_cast<double>(config.train.batch * image_elements(config));
    if (e.all() > most.all()) most = e;
  }
  return most;
}

}  // namespace riesz::app
