// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <variant>
#include <vector>

#include "riesz/app/model_shape.h"
#include "riesz/app/model_sizes.h"
#include "riesz/comm/error.h"
#include "riesz/io/adder.h"
#include "riesz/io/host_memory.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/schedule/under_way.h"
#include "riesz/train/placement.h"
#include "riesz/train/schema.h"
#include "riesz/train/task.h"
#include "riesz/train/token_task.h"
#include "riesz/zero/zero.h"

namespace riesz::app {
namespace {

constexpr double kFp32 = 4;
constexpr double kId = 8;

double real(std::int64_t n) { return static_cast<double>(n); }

/// What a rank has of the model: all, or the stages of one of a pipeline's workers.
struct Part {
  double blocks;
  bool first = true, last = true;  ///< has it the tables, and the output layer?
  double under_way = 1;            ///< micro-batches that it keeps at most
};

/// Of each worker, with blocks shared out evenly.
std::vector<Part> parts_of(const Config& config) {
  if (config.layout.pp == 1) return {{real(config.model.layers)}};
  const Schedule table = pipeline_schedule(config);
  const Split blocks = Split::balanced(config.model.layers, table.chunks());
  const std::vector<int> kept = under_way(table).activations;
  std::vector<Part> parts;
  for (const int chunks : kept) parts.push_back({0, false, false, real(chunks)});
  for (int chunk = 0; chunk < table.chunks(); ++chunk) {
    Part& part = parts[static_cast<std::size_t>(table.worker_of[static_cast<std::size_t>(chunk)])];
    part.blocks += real(blocks[chunk].size());
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

double tokens_at_once(const Config& config) {
  if (config.data.task == "adder") return real(3 * config.data.digits);
  if (config.data.task == "images") return real(image_model_shape(config, kLabels).tokens());
  return real(sequence_length(config));
}

ModelSizes sizes_of_model(const Config& config, const Layout& layout) {
  if (config.data.task == "images") return {image_model_shape(config, kLabels), layout};
  return {model_shape(config, vocabulary_of_task(config)), layout};
}

/// The part's sizes, and where its vectors lie.
struct Model {
  Model(const Config& config, const Partition& mesh, const Part& of)
      : part(of),
        layers(of.blocks),
        T(tokens_at_once(config)),
        sizes(sizes_of_model(config, spaces::named(config.layout.tensor, config.layout.sequence,
                                                   config.layout.pp > 1 ? mesh.at("pp", 0) : mesh))) {}

  double last_norm() const { return part.last ? sizes.last_norm() : 0; }
  double tokens() const { return part.first ? sizes.tokens() : 0; }
  double positions() const { return part.first ? sizes.positions() : 0; }
  double output() const { return part.last ? sizes.output() : 0; }
  double all() const { return layers * sizes.block() + tokens() + positions() + last_norm() + output(); }
  double largest_unit() const { return std::max({sizes.block(), tokens(), positions(), output()}); }
  double vectors_of_all() const { return layers * sizes.vectors() + last_norm(); }
  /// Of the units that stay gathered in stage 3.
  double kept_units() const {
    const double few = static_cast<double>(ZeroOptions{}.keep);
    double sum = sizes.block() <= few ? layers * sizes.block() : 0;
    for (const double unit : {tokens(), positions(), last_norm(), output()}) sum += unit <= few ? unit : 0;
    return sum;
  }

  Part part;
  double layers, T;
  ModelSizes sizes;
};

/// Elements of fp32 that an optimizer keeps beside a rank's values, of which it trains `share`. Adafactor's
/// rows and columns of the published matrices are whole on every rank.
double optimizer_state(const Config::Optimizer& optimizer, const Model& m, double share) {
  if (optimizer.kind == "sgd") return optimizer.momentum > 0 ? share : 0;
  if (optimizer.kind != "adafactor") return 2 * share;
  const double vectors = m.vectors_of_all();
  return m.layers * m.sizes.rows_and_columns_of_block() + m.sizes.rows_and_columns_of_tables() +
         share / m.all() * vectors;
}

/// Bytes of an element of parameters and the residual stream, and of what is computed in a block.
struct Sizes {
  double stored, computed;
};

Sizes sizes_of(const Config& config) {
  if (config.precision != "fp32") return {2, 2};
  return {kFp32, config.compute == "same" ? kFp32 : 2};
}

/// The bytes of one block's activations that backward reads, for `rows` sequences: what the norms, the
/// projections, attention and the activation were given.
double kept_of_block(const Model& m, double rows, const Sizes& size) {
  const ModelSizes::Kept kept = m.sizes.kept(rows, m.T);
  return size.stored * kept.stored + size.computed * kept.computed;
}

/// And where dropout is on: what the residual stream is multiplied by, twice; of attention the scores, what
/// they are multiplied by, and the product.
double kept_to_drop(const Config& config, const Model& m, double rows, const Sizes& size) {
  if (config.model.dropout == 0) return 0;
  const double scores = config.layout.recompute == "attention" ? 0 : 3;
  return 2 * size.stored * m.sizes.stream(rows, m.T) + scores * size.computed * m.sizes.scores(rows, m.T);
}

/// The bytes that a block keeps which runs again: what it is given, once, or a piece of that.
double kept_of_region(const Config& config, const Model& m, double rows, const Sizes& size) {
  const Space X = m.sizes.spaces().stream("btc");
  double workers = 1;  // that have it alike
  for (const Axis& axis : X.partition().axes())
    if (config.layout.recompute_pieces && X.placement(axis.name) == Placement::Replicated)
      workers *= axis.extent;
  return size.stored * m.sizes.stream(rows, m.T) / workers;
}

/// Of all blocks, before backward. When it comes to the last region, that has all that a block keeps, while
/// the logits, and what the blocks after it kept, are gone: what that is more than before.
double kept_of_blocks(const Config& config, const Model& m, double rows, const Sizes& size, double logits) {
  if (m.layers < 1) return 0;
  const double block = kept_of_block(m, rows, size) + kept_to_drop(config, m, rows, size);
  if (config.layout.recompute != "blocks") return m.layers * block;
  const double every = real(config.layout.recompute_every), regions = std::ceil(m.layers / every);
  const double region = kept_of_region(config, m, rows, size), after = std::fmod(m.layers - 1, every);
  return (m.layers - regions) * block + regions * region +
         std::max(0.0, block - region - after * block - logits);
}

/// Micro-batches that a pipeline has together.
std::int64_t at_once(const Config& config) {
  return config.layout.pp > 1 ? pipeline_micro_batches(config) : 1;
}

/// The value nearest to what is set, from it to `end`, with which the configuration fits: "key = value"; ""
/// if there is none. By bisection: towards `end` it must take less and less.
std::string nearest(const std::string& key, Config config, std::int64_t end,
                    const std::function<bool(const Config&)>& fits) {
  std::int64_t& value = std::get<std::int64_t& (*)(Config&)>(find_key(key)->field)(config);
  std::int64_t bad = value;
  std::int64_t good = end;
  value = good;
  if (bad == good || !fits(config)) return "";
  while (std::abs(good - bad) > 1) {
    value = good + (bad - good) / 2;
    (fits(config) ? good : bad) = value;
  }
  return concat(key, " = ", good);
}

std::string what_fits(const Config& config, const std::function<bool(const Config&)>& fits) {
  const bool shares = config.layout.dp * config.layout.sp > 1;
  const std::int64_t m = at_once(config);
  const std::int64_t fewest = config.model.from.empty() ? config.layout.pp : config.model.layers;
  const std::int64_t most_parts = std::max(config.train.batch / m, config.train.micro_batches);
  std::string text;
  for (const std::string& change : {nearest("train.micro_batches", config, most_parts, fits),
                                    nearest("train.batch", config, config.train.micro_batches * m, fits),
                                    nearest("layout.zero", config, shares ? 3 : config.layout.zero, fits),
                                    nearest("model.layers", config, fewest, fits)}) {
    if (!change.empty()) text += (text.empty() ? "" : ", or ") + change;
  }
  Config again = config;
  again.layout.recompute = "blocks";
  again.layout.recompute_every = 1;
  if (fits(again)) text += (text.empty() ? "" : ", or ") + std::string("layout.recompute = \"blocks\"");
  return text.empty() ? "no other train.micro_batches, train.batch, layout.zero, layout.recompute or "
                        "model.layers would fit alone; take "
                        "a smaller model.width, or more ranks on other hosts"
                      : "it would fit with " + text;
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr std::array<const char*, 7> kUnits{"MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"};
  double number = bytes / (1 << 20);
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), number < 1e6 ? "%.2f %s" : "%.3g %s", number, kUnits[unit]);
  return text.data();
}

double MemoryEstimate::all() const {
  return parameters + gradients + optimizer + passing() + activations + under_way + logits + checkpoint +
         data;
}

namespace {

MemoryEstimate estimate_part(const Config& config, const Model& m, double text_bytes) {
  const bool half = config.precision != "fp32";
  const Sizes size = sizes_of(config);
  const double team = real(config.layout.dp) * real(config.layout.sp);
  const std::int64_t stage = team > 1 ? config.layout.zero : 0;
  const double whole = m.all();
  const double share = std::ceil(whole / team);
  const double batch = real(config.train.batch);
  const double rows = std::ceil(batch / real(config.train.micro_batches * at_once(config)));
  const double measured = std::min(batch, real(config.train.eval_size));

  MemoryEstimate e;
  e.parameters = (stage == 3 ? share : whole) * size.stored;
  e.gradients = (stage >= 2 ? share : whole) * kFp32;
  e.optimizer = (optimizer_state(config.optimizer, m, stage >= 1 ? share : whole) +
                 (half ? (stage >= 1 ? share : whole) : 0)) *
                kFp32;
  // Two segments of sums on their way; in stage 3 also two units' values. Small modules share a bucket.
  const double small = static_cast<double>(ZeroOptions{}.bucket);
  const double unit = stage == 3 ? m.largest_unit() : std::max(m.largest_unit(), std::min(whole, small));
  const double saved = whole - share;
  const double segment = std::min(
      {unit, static_cast<double>(ZeroOptions{}.segment), std::max(saved / 8, std::min(65536.0, saved / 2))});
  e.sums = stage >= 2 ? 2 * segment * kFp32 : 0;
  e.gathered = stage == 3 ? (2 * unit + m.kept_units()) * size.stored : 0;
  // The greater of a micro-batch's and a measurement's, which keeps one block's and has no gradients.
  const double last = m.part.last ? 1 : 0;
  const double logits = last * m.sizes.logits(rows, m.T) * (2 * kFp32 + size.computed);
  const double kept_of_one = kept_of_blocks(config, m, rows, size, logits);
  const double others = std::max(0.0, m.part.under_way - 1) * kept_of_one;
  const double of_tables =
      m.part.first && config.model.dropout > 0 ? size.stored * m.sizes.stream(rows, m.T) : 0;
  const double kept =
      std::min(1.0, m.part.under_way) * kept_of_one +
      last * ((2 + m.sizes.kept_by_norm()) * size.stored + size.computed) * m.sizes.stream(rows, m.T) +
      of_tables;
  const double kept_to_measure = kept_of_block(m, measured, size);
  const double logits_to_measure = last * m.sizes.logits(measured, m.T) * (kFp32 + size.computed);
  const bool training = kept + others + logits >= kept_to_measure + logits_to_measure;
  e.activations = training ? kept : kept_to_measure;
  e.under_way = training ? others : 0;
  e.logits = training ? logits : logits_to_measure;
  const double sums = config.data.task == "adder" ? 3 * kId * std::pow(100.0, real(config.data.digits)) : 0;
  if (config.checkpoint.every > 0 && config.checkpoint.background) {
    // All state but copies of it, shared out. Where all have it, what is short, such as Adafactor's, is the
    // first worker's.
    const double vectors = m.vectors_of_all() / whole;
    const double mine = stage >= 1 ? 1 / team : vectors + (1 - vectors) / team;
    e.checkpoint = whole * (size.stored + (half ? kFp32 : 0)) * mine +
                   optimizer_state(config.optimizer, m, whole) * kFp32 *
                       (config.optimizer.kind == "adafactor" ? 1 : mine);
  }
  e.data = sums + text_bytes + 3 * kId * batch * (m.T + 1);
  return e;
}

}  // namespace

MemoryEstimate estimate_memory(const Config& config, const Partition& mesh, double text_bytes) {
  std::vector<MemoryEstimate> all;
  double copies = 0;
  for (const Part& part : parts_of(config)) {
    all.push_back(estimate_part(config, Model(config, mesh, part), text_bytes));
    copies += all.back().checkpoint;
  }
  // All workers write as much, whichever of a pipeline's has it.
  for (MemoryEstimate& of : all) of.checkpoint = copies / static_cast<double>(all.size());
  return *std::max_element(all.begin(), all.end(), [](const MemoryEstimate& a, const MemoryEstimate& b) {
    return a.all() < b.all();
  });
}

std::string to_string(const MemoryEstimate& e) {
  std::string text;
  const auto row = [&](const char* name, double bytes) {
    std::array<char, 96> line;
    std::snprintf(line.data(), line.size(), "  %-20s %16s\n", name, bytes_text(bytes).c_str());
    text += line.data();
  };
  row("parameters", e.parameters);
  row("gradients", e.gradients);
  row("optimizer", e.optimizer);
  row("gathered values", e.gathered);
  row("sums of gradients", e.sums);
  row("activations", e.activations);
  row("of others under way", e.under_way);
  row("logits", e.logits);
  row("checkpoint's copy", e.checkpoint);
  row("data", e.data);
  row("in all", e.all());
  return text;
}

void check_memory(const Config& config, const Partition& mesh, double text_bytes, int ranks,
                  double available) {
  const auto needs = [&](const Config& c) { return ranks * estimate_memory(c, mesh, text_bytes).all(); };
  const auto fits = [&](const Config& c) { return needs(c) <= available; };
  RIESZ_CHECK(fits(config), "this training does not fit this host, which has ", bytes_text(available),
              " of memory left: ", ranks == 1 ? "1 rank takes " : concat(ranks, " ranks on it take "),
              bytes_text(needs(config)), " at least; each rank takes\n",
              to_string(estimate_memory(config, mesh, text_bytes)), what_fits(config, fits));
}

double bytes_of_text(const Config& config) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (config.data.task != "text" || !fs::is_regular_file(config.data.text, error)) return 0;
  const auto bytes = static_cast<double>(fs::file_size(config.data.text, error));
  return error ? 0 : bytes;
}

void check_memory(const Config& config, const Partition& mesh, int ranks) {
  const std::optional<std::int64_t> available = available_memory();
  if (available) check_memory(config, mesh, bytes_of_text(config), ranks, real(*available));
}

}  // namespace riesz::app
