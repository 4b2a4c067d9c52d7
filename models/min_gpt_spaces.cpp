// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/models/min_gpt_spaces.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "riesz/comm/error.h"

namespace riesz::models {
namespace {

using spaces::Sequence;
using Axes = std::vector<std::string>;

/// The axes that shard each extent of the model, major to minor. Widths of the stream are C; inner widths are
/// the heads, 4C and V. "Up" leads from the stream to an inner width, "down" back.
struct Scheme {
  std::string name;
  Axes batch, inner_batch;
  Axes sequence;  // of the stream alone
  Axes width, inner;
  Axes up_in, up_out, down_in, down_out;
  Axes token_rows, position_rows;
};

void check(const MinGptConfig& config) {
  RIESZ_CHECK(config.layers >= 1 && config.heads >= 1 && config.width >= 1 && config.vocabulary >= 1 &&
                  config.context >= 1,
              "minGPT: layers ", config.layers, ", heads ", config.heads, ", width ", config.width,
              ", vocabulary ", config.vocabulary, ", context ", config.context, "; each is at least 1");
  RIESZ_CHECK(config.width % config.heads == 0, "minGPT: a width of ", config.width, " is no multiple of ",
              config.heads, " heads");
}

void check(const Partition& mesh, const Scheme& scheme, Sequence sequence) {
  Axes known{"dp", "sp"};
  for (const Axes* axes :
       {&scheme.batch, &scheme.inner_batch, &scheme.sequence, &scheme.inner, &scheme.up_in}) {
    known.insert(known.end(), axes->begin(), axes->end());
  }
  for (const Axis& axis : mesh.axes()) {
    RIESZ_CHECK(axis.extent == 1 || std::find(known.begin(), known.end(), axis.name) != known.end(),
                "spaces::", scheme.name, ": the grid ", to_string(mesh), " has an axis ", axis.name,
                ", which this layout does not use; give its workers to another axis");
  }
  const bool split = mesh.find("sp") >= 0 && mesh.extent("sp") > 1;
  RIESZ_CHECK(!split || sequence != Sequence::whole, "spaces::", scheme.name, ": the grid ", to_string(mesh),
              " has an axis sp, but the sequence is whole; ask for Sequence::ring or Sequence::ulysses");
}

/// A space whose dims are sharded by those axes that the mesh has.
class Layout {
 public:
  Layout(const Partition& mesh, const std::vector<std::int64_t>& shape) : mesh_(mesh), X_(mesh, shape) {}

  Layout& by(int dim, const Axes& axes) {
    for (const std::string& axis : axes) {
      if (mesh_.find(axis) >= 0) X_ = X_.sharded(dim, axis);
    }
    return *this;
  }
  /// The sequence, over "sp" first.
  Layout& in_order(int dim, Sequence sequence, const Axes& axes = {}) {
    const bool zigzag = sequence == Sequence::ring && mesh_.find("sp") >= 0;
    if (zigzag)
      X_ = X_.zigzag(dim, "sp");
    else if (sequence != Sequence::whole)
      by(dim, {"sp"});
    return by(dim, axes);
  }
  operator Space() const { return X_; }

 private:
  const Partition& mesh_;
  Space X_;
};

MinGptSpaces spaces_of(const Partition& mesh, const MinGptConfig& config, const Scheme& s,
                       Sequence sequence) {
  check(config);
  check(mesh, s, sequence);
  const std::int64_t B = Space::any;
  const std::int64_t T = Space::any;
  const std::int64_t C = config.width;
  const std::int64_t V = config.vocabulary;
  const std::int64_t H = config.heads;
  const std::int64_t M = config.hidden > 0 ? config.hidden : 4 * C;
  const auto in = [&](const std::vector<std::int64_t>& shape) { return Layout(mesh, shape); };
  const bool by_heads = sequence == Sequence::ulysses;
  const Sequence attended = by_heads ? Sequence::whole : sequence;
  return {
      .tokens = in({B, T}).by(0, s.batch).in_order(1, sequence),
      .targets = in({B, T}).by(0, s.inner_batch).in_order(1, sequence),
      .stream = in({B, T, C}).by(0, s.batch).in_order(1, sequence, s.sequence).by(2, s.width),
      .qkv = in({3, B, T, H, C / H}).by(1, s.inner_batch).in_order(2, sequence).by(3, s.inner),
      .attending = in({3, B, T, H, C / H})
                       .by(1, s.inner_batch)
                       .in_order(2, attended)
                       .by(3, s.inner)
                       .by(3, by_heads ? Axes{"sp"} : Axes{}),
      .heads = in({B, T, H, C / H}).by(0, s.inner_batch).in_order(1, sequence).by(2, s.inner),
      .hidden = in({B, T, M}).by(0, s.inner_batch).in_order(1, sequence).by(2, s.inner),
      .logits = in({B, T, V}).by(0, s.inner_batch).in_order(1, sequence).by(2, s.inner),
      .token_table = in({V, C}).by(0, s.token_rows).by(1, s.width),
      .position_table = in({config.context, C}).by(0, s.position_rows).by(1, s.width),
      .qkv_weight = in({C, 3, H, C / H}).by(0, s.up_in).by(2, s.up_out),
      .heads_weight = in({H, C / H, C}).by(0, s.down_in).by(2, s.down_out),
      .up_weight = in({C, M}).by(0, s.up_in).by(1, s.up_out),
      .down_weight = in({M, C}).by(0, s.down_in).by(1, s.down_out),
      .logits_weight = in({V, C}).by(0, s.up_out).by(1, s.up_in),
  };
}

/// Everything over rows and columns, the batch also over the axes before.
Scheme grid_of_rows_and_columns(const std::string& name, Axes batch) {
  batch.push_back("row");
  return {.name = name,
          .batch = batch,
          .inner_batch = batch,
          .sequence = {},
          .width = {"column"},
          .inner = {"column"},
          .up_in = {"row"},
          .up_out = {"column"},
          .down_in = {"row"},
          .down_out = {"column"},
          .token_rows = {"row"},
          .position_rows = {"row"}};
}

Scheme megatron(const std::string& name, const Axes& sequence) {
  return {.name = name,
          .batch = {"dp"},
          .inner_batch = {"dp"},
          .sequence = sequence,
          .width = {},
          .inner = {"tp"},
          .up_in = {},
          .up_out = {"tp"},
          .down_in = {"tp"},
          .down_out = {},
          .token_rows = {"tp"},
          .position_rows = {}};
}

}  // namespace

MinGptSpaces spaces::one_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence) {
  return spaces_of(mesh, config, megatron("one_d", {}), sequence);
}

MinGptSpaces spaces::sequence_parallel(const Partition& mesh, const MinGptConfig& config, Sequence sequence) {
  return spaces_of(mesh, config, megatron("sequence_parallel", {"tp"}), sequence);
}

MinGptSpaces spaces::two_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence) {
  return spaces_of(mesh, config, grid_of_rows_and_columns("two_d", {"dp"}), sequence);
}

MinGptSpaces spaces::two_and_half_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence) {
  return spaces_of(mesh, config, grid_of_rows_and_columns("two_and_half_d", {"dp", "depth"}), sequence);
}

MinGptSpaces spaces::three_d(const Partition& mesh, const MinGptConfig& config, Sequence sequence) {
  return spaces_of(mesh, config,
                   {.name = "three_d",
                    .batch = {"dp", "a", "c"},
                    .inner_batch = {"dp", "a", "b"},
                    .sequence = {},
                    .width = {"b"},
                    .inner = {"c"},
                    .up_in = {"b", "a"},
                    .up_out = {"c"},
                    .down_in = {"c", "a"},
                    .down_out = {"b"},
                    .token_rows = {"c", "a"},
                    .position_rows = {"c", "a"}},
                   sequence);
}

MinGptSpaces spaces::named(const std::string& tensor, const std::string& sequence, const Partition& mesh,
                           const MinGptConfig& config) {
  static const std::map<std::string, Sequence> sequences{
      {"none", Sequence::whole}, {"ring", Sequence::ring}, {"ulysses", Sequence::ulysses}};
  static const std::map<std::string, decltype(&one_d)> tensors{
      {"1d", one_d}, {"sp", sequence_parallel}, {"2d", two_d}, {"2.5d", two_and_half_d}, {"3d", three_d}};
  RIESZ_CHECK(tensors.contains(tensor), "spaces::named: \"", tensor, "\" is none of 1d, sp, 2d, 2.5d, 3d");
  RIESZ_CHECK(sequences.contains(sequence), "spaces::named: \"", sequence,
              "\" is none of none, ring, ulysses");
  return tensors.at(tensor)(mesh, config, sequences.at(sequence));
}

MinGptSpaces spaces::ring(const Partition& mesh, const MinGptConfig& config) {
  return one_d(mesh, config, Sequence::ring);
}

MinGptSpaces spaces::ulysses(const Partition& mesh, const MinGptConfig& config) {
  return one_d(mesh, config, Sequence::ulysses);
}

}  // namespace riesz::models
