// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory/memory_estimate.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "riesz/app/memory/convolution_memory.h"
#include "riesz/app/memory/one_bit_adam_memory.h"
#include "riesz/app/memory/state_bytes.h"
#include "riesz/app/models/model_shape.h"
#include "riesz/app/models/model_sizes.h"
#include "riesz/io/adder.h"
#include "riesz/io/cells.h"
#include "riesz/nn/means_parameter.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/schedule/under_way.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/data/field_files.h"
#include "riesz/train/data/folder_source.h"
#include "riesz/train/data/task.h"
#include "riesz/zero/zero.h"

namespace riesz::app {
namespace {

constexpr double kFp32 = 4;
constexpr double kId = 8;

double real(std::int64_t n) { return static_cast<double>(n); }

/// What a rank has of the model: all, or the stages of one of a pipeline's workers.
struct Part {
  std::vector<Interval> chunks;    ///< blocks
  bool first = true, last = true;  ///< has it the tables? the output layer?
  double under_way = 1;            ///< micro-batches whose activations it keeps at most
};

/// The part of each of the pipeline's workers, with blocks shared out evenly.
std::vector<Part> parts_of(const Config& config) {
  if (config.layout.pp == 1) return {{{{0, config.model.layers}}}};
  const Schedule table = pipeline_schedule(config);
  const Split blocks = Split::balanced(config.model.layers, table.chunks());
  const std::vector<int> kept = under_way(table).activations;
  std::vector<Part> parts;
  for (const int chunks : kept) parts.push_back({{}, false, false, real(chunks)});
  for (int chunk = 0; chunk < table.chunks(); ++chunk) {
    Part& part = parts[static_cast<std::size_t>(table.worker_of[static_cast<std::size_t>(chunk)])];
    part.chunks.push_back(blocks[chunk]);
    part.first |= chunk == 0;
    part.last |= chunk + 1 == table.chunks();
    part.under_way *= real(table.workers()) / real(table.chunks());
  }
  return parts;
}

std::int64_t vocabulary_of_task(const Config& config) {
  if (config.data.task == "adder") return Adder::vocabulary;
  return config.data.task == "tokens" ? vocabulary_of_tokens(config) : 256;
}

/// More labels than images usually have: what they are is known once the images have been read.
constexpr std::int64_t kLabels = 1000;

/// What every rank has of a sequence of a batch: its ids, or the image and its patches.
double bytes_of_input(const Config& config, double T) {
  return config.data.task == "images" ? 2 * kFp32 * real(image_elements(config)) : 3 * kId * (T + 1);
}

double tokens_at_once(const Config& config) {
  if (config.data.task == "adder") return real(3 * config.data.digits);
  if (config.data.task == "images")
    return real(std::get<models::VitConfig>(image_model_shape(config, kLabels)).tokens());
  return real(sequence_length(config));
}

ModelSizes sizes_of_model(const Config& config, const Layout& layout) {
  if (config.data.task == "images")
    return {std::get<models::VitConfig>(image_model_shape(config, labels_of_data(config))), layout};
  return {model_shape(config, vocabulary_of_task(config)), layout};
}

/// Whether a parameter is trained, by its name.
WhichNames trained_by(const Config& config) {
  std::vector<std::string> frozen;
  std::istringstream words(config.train.frozen);
  for (std::string word; words >> word;) frozen.push_back(word);
  return [frozen = std::move(frozen)](const std::string& name) {
    return std::none_of(frozen.begin(), frozen.end(),
                        [&](const std::string& pattern) { return detail::means_parameter(pattern, name); });
  };
}

/// The part's sizes, and where its vectors lie.
class Model {
 public:
  using Parameters = ModelSizes::Parameters;

  Model(const Config& config, const Partition& mesh, Part of)
      : part(std::move(of)),
        T(tokens_at_once(config)),
        sizes(
            sizes_of_model(config, layout_on(config.layout, config.layout.pp > 1 ? mesh.at("pp", 0) : mesh))),
        all_trained_(config.train.frozen.empty()),
        is_trained_(trained_by(config)) {
    for (const Interval& blocks : part.chunks) layers += real(blocks.size());
    const WhichNames frozen = [&](const std::string& name) { return !is_trained_(name); };
    each_block([&](std::int64_t i, double n) {
      add(n, sizes.block(i, is_trained_));
      untrained += n * sizes.block(i, frozen);
    });
    if (part.first) add(1, sizes.tokens(is_trained_)), add(1, sizes.positions(is_trained_));
    if (part.last) add(1, sizes.output(is_trained_)), add_last_norm(sizes.last_norm(is_trained_));
    if (part.first) untrained += sizes.tokens(frozen), untrained += sizes.positions(frozen);
    if (part.last) untrained += sizes.output(frozen), untrained += sizes.last_norm(frozen);
  }

  /// What all its blocks keep for backward.
  ModelSizes::Kept kept_of_blocks(double rows) const {
    if (all_trained_) {
      ModelSizes::Kept sum;
      each_block([&](std::int64_t i, double n) {
        const ModelSizes::Kept each = sizes.kept(rows, T, i, true, is_trained_);
        sum.stored += n * each.stored, sum.computed += n * each.computed;
      });
      return sum;
    }
    ModelSizes::Kept sum{0, 0, sizes.any_before_blocks(is_trained_)};
    std::int64_t next = 0;  // what lies before it may be another part's
    each_block([&](std::int64_t i, double n) {
      for (; next <= i; ++next) {
        const ModelSizes::Kept block = sizes.kept(rows, T, next, sum.varied, is_trained_);
        sum.varied = block.varied;
        if (next < i) continue;
        sum.stored += n * block.stored, sum.computed += n * block.computed;
      }
    });
    return sum;
  }

  Part part;
  double layers = 0, T;
  ModelSizes sizes;
  Parameters trained, untrained;
  double largest_unit = 0,
         kept_units = 0;  ///< of ZeRO: trained elements; those that stay gathered in stage 3

 private:
  /// Calls f(i, n) for blocks that are n like block i.
  template <typename F>
  void each_block(const F& f) const {
    constexpr std::int64_t kMost = 4096;  // that are told apart
    for (const Interval& blocks : part.chunks) {
      const std::int64_t apart = all_trained_ ? 0 : std::min(kMost, blocks.size());
      const std::int64_t period = std::min(sizes.period(), blocks.size());
      for (std::int64_t i = blocks.begin; i < blocks.begin + apart; ++i) f(i, 1.0);
      for (std::int64_t i = 0; all_trained_ && i < period; ++i)
        f(blocks.begin + i, real((blocks.size() - i + period - 1) / period));
      if (!all_trained_ && blocks.size() > apart)
        f(blocks.begin + std::max<std::int64_t>(apart - 1, 0), real(blocks.size() - apart));
    }
  }

  void add(double n, const Parameters& unit) {
    trained += n * unit;
    largest_unit = std::max(largest_unit, unit.elements);
    keep(n, unit);
  }
  void add_last_norm(const Parameters& norm) { trained += norm, keep(1, norm); }
  void keep(double n, const Parameters& unit) {
    if (unit.elements <= static_cast<double>(ZeroOptions{}.keep)) kept_units += n * unit.elements;
  }

  bool all_trained_;
  WhichNames is_trained_;
};

/// Elements of fp32 that an optimizer keeps beside a rank's values, of which it trains `share`. Adafactor's
/// rows and columns of the published matrices are whole on every rank.
double optimizer_state(const Config::Optimizer& optimizer, const Model& m, double share) {
  if (optimizer.kind == "sgd") return optimizer.momentum > 0 ? share : 0;
  if (optimizer.kind != "adafactor") return 2 * share;
  return m.trained.rows_and_columns + share / std::max(m.trained.elements, 1.0) * m.trained.vectors;
}

/// The bytes of an element: of parameters and the residual stream; of what is computed in a block.
struct ElementBytes {
  double stored, computed;
};

ElementBytes element_bytes(const Config& config) {
  if (config.precision != "fp32") return {2, 2};
  return {kFp32, config.compute == "same" ? kFp32 : 2};
}

/// The bytes of one block's activations that are kept for backward, for `rows` sequences: what the norms,
/// attention, the projection behind it and the activation were given.
double kept_of_block(const Model& m, double rows, const ElementBytes& bytes) {
  const ModelSizes::Kept kept = m.sizes.kept(rows, m.T);
  return bytes.stored * kept.stored + bytes.computed * kept.computed;
}

/// Of all blocks.
double kept_of_all(const Model& m, double rows, const ElementBytes& bytes) {
  const ModelSizes::Kept kept = m.kept_of_blocks(rows);
  return bytes.stored * kept.stored + bytes.computed * kept.computed;
}

/// What dropout adds to it: of attention the scores, and what is left of them, where its kernel of rows does
/// not make both again. Masks are drawn again.
double kept_to_drop(const Config& config, const Model& m, double rows, const ElementBytes& bytes) {
  if (config.model.dropout == 0) return 0;
  constexpr std::int64_t kWidths = 16;  // of a head: the kernel's are a multiple
  const bool again = config.layout.recompute == "attention" ||
                     (config.device == "cpu" && config.model.width / config.model.heads % kWidths == 0);
  const double scores = again ? 0 : 2;
  return scores * bytes.computed * m.sizes.scores(rows, m.T);
}

/// The bytes that are kept of a block that runs again: its argument, or a piece of that.
double kept_of_region(const Config& config, const Model& m, double rows, const ElementBytes& bytes) {
  const Space X = m.sizes.spaces().stream("btc");
  double workers = 1;  // that have it alike
  for (const Axis& axis : X.partition().axes())
    if (config.layout.recompute_pieces && X.placement(axis.name) == Placement::Replicated)
      workers *= axis.extent;
  return bytes.stored * m.sizes.stream(rows, m.T) / workers;
}

/// What a block keeps from forward on, in the mean, and what one keeps more when it has run again.
struct KeptOfBlock {
  double each = 0, more = 0;
};

/// All blocks keep most when backward begins; or once it has come to the last region, which then has all that
/// a block keeps, while the logits and what the blocks behind it kept are gone.
KeptOfBlock kept_for_backward(const Config& config, const Model& m, double rows, const ElementBytes& bytes,
                              double logits) {
  if (m.layers < 1) return {};
  const double block = kept_of_all(m, rows, bytes) / m.layers + kept_to_drop(config, m, rows, bytes);
  if (config.layout.recompute != "blocks") return {block};
  const double every = real(config.layout.recompute_every), regions = std::ceil(m.layers / every);
  const double region = kept_of_region(config, m, rows, bytes), after = std::fmod(m.layers - 1, every);
  return {((m.layers - regions) * block + regions * region) / m.layers,
          std::max(0.0, block - region - after * block - logits)};
}

/// How a stage of ZeRO shares the part's parameters out. Experts are shared out by the workers that have the
/// same ones.
struct Shared {
  Shared(const Config& config, const Model& m) : whole(m.trained.elements) {
    const Partition& mesh = m.sizes.spaces().mesh();
    for (const std::string& axis : token_axes(config.layout, mesh)) {
      team *= mesh.extent(axis);
      if (axis != "ep") of_experts *= mesh.extent(axis);
    }
    stage = team > 1 ? config.layout.zero : 0;
    share = std::ceil((whole - m.trained.experts) / team) + std::ceil(m.trained.experts / of_experts);
  }

  /// The elements that a rank has of what is shared out from this stage on.
  double from(std::int64_t first) const { return stage >= first ? share : whole; }
  /// Of these a worker's part, with what short vectors have.
  double by_replicas(const ModelSizes::Parameters& of) const {
    return of.vectors + (of.elements - of.experts - of.vectors) / team + of.experts / of_experts;
  }

  double team = 1, of_experts = 1;  ///< workers
  std::int64_t stage = 0;
  double whole, share = 0;
};

void estimate_state(MemoryEstimate& e, const Config& config, const Model& m) {
  const Shared shared(config, m);
  const double stored = element_bytes(config).stored;
  const double masters = config.precision == "fp32" ? 0 : shared.from(1);
  e.parameters = (shared.from(3) + m.untrained.elements) * stored;
  e.gradients = shared.from(2) * kFp32;
  const StateBytes state =
      state_by_place(config, optimizer_state(config.optimizer, m, shared.from(1)) * kFp32, masters * kFp32);
  e.elsewhere = state.elsewhere;
  e.optimizer = state.in_memory + errors_to_send(config.optimizer, shared.whole, shared.team) * kFp32 +
                momenta_of_all(config.optimizer, shared.whole, config.layout.zero);
  // Two segments of sums on their way; in stage 3 also two units' values. Small modules share a bucket.
  const double small = std::min(shared.whole, static_cast<double>(ZeroOptions{}.bucket));
  const double unit = shared.stage == 3 ? m.largest_unit : std::max(m.largest_unit, small);
  const double saved = shared.whole - shared.share;
  const double segment = std::min(
      {unit, static_cast<double>(ZeroOptions{}.segment), std::max(saved / 8, std::min(65536.0, saved / 2))});
  e.sums = shared.stage >= 2 ? 2 * segment * kFp32 : 0;
  e.gathered = shared.stage == 3 ? (2 * unit + m.kept_units) * stored : 0;
}

/// The bytes of a logit, with those of the loss. On a CPU it is read as it lies, and its gradient is written
/// over it. LibTorch's operators make another in fp32, and for training its gradient.
double bytes_of_logit(const Config& config, bool training) {
  const double computed = element_bytes(config).computed;
  if (config.device == "cpu") return computed;
  return computed + (training ? 2 : 1) * kFp32;
}

/// The greater of what micro-batches keep and what a measurement does, which keeps one block's activations of
/// a micro-batch and has no gradients.
void estimate_activations(MemoryEstimate& e, const Config& config, const Model& m) {
  const ElementBytes bytes = element_bytes(config);
  const double batch = real(config.train.batch), last = m.part.last ? 1 : 0;
  const double parts = real(micro_batches_of(config));
  const double rows = std::ceil(batch / parts);
  const double stream = m.sizes.stream(rows, m.T);
  const double logits = last * m.sizes.logits(rows, m.T) * bytes_of_logit(config, true);
  const KeptOfBlock block = kept_for_backward(config, m, rows, bytes, logits);
  const bool on_disk = config.offload.activations == "disk";
  const double depth = real(config.offload.depth), more = std::max(0.0, m.part.under_way - 1);
  const double blocks = (on_disk ? std::min(m.layers, 1 + depth) : m.layers) * block.each + block.more;
  // On a disk: some of the next micro-batch, while backward reads ahead.
  const double others = on_disk ? std::min(depth, more * m.layers) * block.each : more * blocks;
  // The last block goes back first.
  if (on_disk) e.activations_on_disk += std::max(0.0, (1 + more) * m.layers - 1) * block.each;
  const double behind = last * 2 * bytes.stored * stream;
  const double kept = std::min(1.0, m.part.under_way) * blocks + behind;

  const double measured = std::ceil(std::min(batch, real(config.train.eval_size)) / parts);
  Model measures = m;
  measures.sizes.count_measured_rows();
  const double kept_to_measure = kept_of_block(measures, measured, bytes);
  const double logits_to_measure = last * m.sizes.logits(measured, m.T) * bytes_of_logit(config, false);
  const bool training = kept + others + logits >= kept_to_measure + logits_to_measure;
  e.momentary = m.layers > 0 ? bytes.computed * m.sizes.multiplied(rows, m.T) : 0;
  e.activations = training ? kept : kept_to_measure;
  e.under_way = training ? others : 0;
  e.logits = training ? logits : logits_to_measure;
}

/// What activations take more where all tokens choose experts of this rank, up to their capacity.
double more_at_worst(const MemoryEstimate& balanced, const Config& config, Model m) {
  MemoryEstimate most;
  m.sizes.count_most_rows();
  estimate_activations(most, config, m);
  const auto bytes = [](const MemoryEstimate& e) { return e.activations + e.under_way + e.logits; };
  return std::max(0.0, bytes(most) - bytes(balanced));
}

/// The bytes that this worker writes of a checkpoint: of all state its share, and of what all workers hold,
/// the short vectors too, for these are the first worker's.
double checkpoint_copy(const Config& config, const Model& m) {
  if (!config.checkpoint.save || !config.checkpoint.background) return 0;
  const Shared shared(config, m);
  const double frozen = shared.by_replicas(m.untrained) * element_bytes(config).stored;
  if (shared.whole == 0) return frozen;  // a stage that trains nothing
  const double mine = (shared.stage >= 1 ? shared.share : shared.by_replicas(m.trained)) / shared.whole;
  const bool at_once = config.offload.state != "device";  // all but values is written while it is read
  const double value = element_bytes(config).stored + (config.precision == "fp32" || at_once ? 0 : kFp32);
  const double state = at_once ? 0 : optimizer_state(config.optimizer, m, shared.whole);
  return shared.whole * value * mine + state * kFp32 * (config.optimizer.kind == "adafactor" ? 1 : mine) +
         errors_to_send(config.optimizer, shared.whole, shared.team) * kFp32 + frozen;
}

MemoryEstimate estimate_part(const Config& config, const Model& m, double data_bytes) {
  MemoryEstimate e;
  estimate_state(e, config, m);
  estimate_activations(e, config, m);
  e.at_worst = more_at_worst(e, config, m);
  e.checkpoint = checkpoint_copy(config, m);
  const double sums = config.data.task == "adder" ? 3 * kId * std::pow(100.0, real(config.data.digits)) : 0;
  e.data = sums + data_bytes + real(config.train.batch) * bytes_of_input(config, m.T);
  return e;
}

}  // namespace

std::int64_t labels_of_data(const Config& config) {
  if (config.data.task == "cells") return CellImages::labels;
  if (config.data.task == "darcy") return 1;
  if (config.data.task == "masks") return config.data.labels;
  if (config.data.task == "fields") return channels_of(open_field_files(config).targets);
  return config.labels.empty() ? kLabels : static_cast<std::int64_t>(config.labels.size());
}

MemoryEstimate estimate_memory(const Config& config, const Partition& mesh, double data_bytes) {
  if (has_space(config.model))
    return estimate_convolution_memory(config, mesh, labels_of_data(config), data_bytes);
  std::vector<MemoryEstimate> all;
  double copies = 0;
  for (const Part& part : parts_of(config)) {
    all.push_back(estimate_part(config, Model(config, mesh, part), data_bytes));
    copies += all.back().checkpoint;
  }
  // All workers write as much, whichever of a pipeline's has it.
  for (MemoryEstimate& of : all) of.checkpoint = copies / static_cast<double>(all.size());
  return *std::max_element(all.begin(), all.end(), [](const MemoryEstimate& a, const MemoryEstimate& b) {
    return a.all() < b.all();
  });
}

}  // namespace riesz::app
