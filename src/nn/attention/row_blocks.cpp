// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_blocks.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "riesz/comm/resolved.h"
#include "riesz/nn/attention/score_rows.h"
#include "riesz/nn/attention/tile_product.h"
#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/kernels/stored.h"

namespace riesz::detail {
namespace {

constexpr std::int64_t kWidths = 16;  // the width is a multiple of
constexpr std::int64_t kMostRows = 32, kLeastRows = 8;
constexpr std::int64_t kFewColumns = 64, kManyColumns = 1024;  // between them it is the fastest
constexpr std::int64_t kBeside = 16;  // floats: a row's line of cache is not that of the row before
constexpr std::int64_t kScoresAtOnce = std::int64_t{1} << 18;

/// In fp32, a row's numbers next to each other.
at::Tensor rows_of_floats(const at::Tensor& x) {
  const at::Tensor wide = resolved(x.to(at::kFloat));
  return wide.stride(-1) == 1 ? wide : wide.contiguous();
}

/// (B, n, heads, d) in memory, as (B, heads, n, d).
at::Tensor zeros_by_head(const at::Tensor& like) {
  return at::zeros({like.size(0), like.size(2), like.size(1), like.size(3)}, like.options()).transpose(1, 2);
}

/// A matrix of a head: rows of d floats, a step apart.
struct HeadRows {
  float* data;
  std::int64_t step;

  float* row(std::int64_t i) const { return data + i * step; }
};

HeadRows head_of(const at::Tensor& x, std::int64_t b, std::int64_t head) {
  return {const_cast<float*>(x.const_data_ptr<float>()) + b * x.stride(0) + head * x.stride(1), x.stride(2)};
}

/// All that is added to the scores, −∞ where a position is not seen, as a view of their shape; or undefined.
at::Tensor all_added(const TileMask& mask, at::IntArrayRef scores, const at::TensorOptions& options) {
  at::Tensor added = mask.bias.defined() ? mask.bias.to(at::kFloat) : mask.bias;
  for (const at::Tensor& seen : {mask.seen, mask.keys}) {
    if (!seen.defined()) continue;
    added = (added.defined() ? added : at::zeros({1}, options))
                .masked_fill(seen.logical_not(), -std::numeric_limits<float>::infinity());
  }
  if (!added.defined()) return added;
  return (added.stride(-1) == 1 || added.size(-1) == 1 ? added : added.contiguous()).expand(scores);
}

/// The indices of what boxes hold in a dim.
std::vector<std::int64_t> held(const Intervals& runs) {
  std::vector<std::int64_t> all;
  for (const Interval& run : runs)
    for (std::int64_t i = run.begin; i < run.end; ++i) all.push_back(i);
  return all;
}

/// Dropout of a tile's probabilities, by head.
class KeptInTile {
 public:
  KeptInTile(const KeptInTile&) = delete;
  KeptInTile& operator=(const KeptInTile&) = delete;
  explicit KeptInTile(const std::optional<DropoutDraws>& draws) {
    if (!draws) return;
    const std::vector<std::int64_t>& shape = draws->shape;
    batches_ = held(draws->boxes[0]), heads_ = held(draws->boxes[1]), rows_ = held(draws->boxes[2]);
    for (std::int64_t& row : rows_) row *= shape[3];
    runs_ = draws->boxes[3];
    of_head_ = shape[2] * shape[3], of_batch_ = shape[1] * of_head_;
    kept_ = {.stream = {draws->key, draws->step},
             .threshold = draws->threshold(),
             .factor = static_cast<float>(draws->factor()),
             .row_offsets = rows_.data(),
             .offset = 0,
             .runs = runs_.data(),
             .count = static_cast<std::int64_t>(runs_.size()),
             .words = nullptr};
  }

  bool all() const { return runs_.empty(); }
  /// From local row `row` of a head on. @pre !all()
  KeptInRows of(std::int64_t batch, std::int64_t head, std::int64_t row, std::uint32_t* words) const {
    KeptInRows kept = kept_;
    kept.offset = batches_[static_cast<std::size_t>(batch)] * of_batch_ +
                  heads_[static_cast<std::size_t>(head)] * of_head_;
    kept.row_offsets += row;
    kept.words = words;
    return kept;
  }

 private:
  std::vector<std::int64_t> batches_, heads_, rows_;
  Intervals runs_;
  std::int64_t of_head_ = 0, of_batch_ = 0;
  KeptInRows kept_{};
};

/// A tile as its heads are computed.
struct Blocks {
  at::Tensor q, k, v, added;
  double scale;
  bool corner;
  KeptInTile kept;
  std::int64_t heads, group, rows, columns, d, step, at_once;

  Blocks(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values, const TileMask& mask)
      : q(rows_of_floats(queries)),
        k(rows_of_floats(keys)),
        v(rows_of_floats(values)),
        added(all_added(mask, {q.size(0), q.size(1), q.size(2), k.size(2)}, q.options())),
        scale(mask.scale),
        corner(mask.corner),
        kept(mask.draws),
        heads(k.size(1)),
        group(q.size(1) / k.size(1)),
        rows(q.size(2)),
        columns(k.size(2)),
        d(q.size(3)),
        step(in_panels(columns) + kBeside),
        at_once(std::clamp(kScoresAtOnce / step / kLeastRows * kLeastRows, kLeastRows, kMostRows)) {}
};

/// A thread's own memory: of keys, and values if it goes back, transposed; of keys or values as they are; of
/// scores, and their gradients.
class Room {
 public:
  Room(const Blocks& of, bool goes_back) {
    const std::int64_t operand = of.d * in_panels(of.columns), block = of.at_once * of.step;
    const std::int64_t count = goes_back ? 2 : 1;
    all_ = at::empty({(count + 1) * operand + count * block + words_of(of.columns)}, of.q.options());
    keys = all_.mutable_data_ptr<float>();
    values = keys + (count - 1) * operand;
    rows = values + operand;
    scores = rows + operand;
    bars = scores + (count - 1) * block;
    words = reinterpret_cast<std::uint32_t*>(bars + block);
  }

  /// The rows of x next to each other: as they lie many would share few places of the nearest cache.
  HeadRows together(const HeadRows& x, std::int64_t count, std::int64_t d) const {
    for (std::int64_t i = 0; i < count; ++i) std::copy_n(x.row(i), d, rows + i * d);
    return {rows, d};
  }

  float *keys, *values, *rows, *scores, *bars;
  std::uint32_t* words;

 private:
  at::Tensor all_;
};

/// A block of rows of a query head.
struct RowBlock {
  std::int64_t b, head, row, rows, columns;

  RowBlock(const Blocks& of, std::int64_t batch, std::int64_t query_head, std::int64_t first)
      : b(batch),
        head(query_head),
        row(first),
        rows(std::min(of.at_once, of.rows - first)),
        columns(of.corner ? std::min(of.columns, first + rows) : of.columns) {}
};

ScoreRows score_rows(const Blocks& of, const RowBlock& block, float* scores) {
  return {.scores = scores,
          .stride = of.step,
          .rows = block.rows,
          .columns = block.columns,
          .visible = of.corner ? block.row + 1 : of.columns,
          .visible_more = of.corner ? 1 : 0,
          .scale = static_cast<float>(of.scale),
          .added = of.added.defined() ? of.added.const_data_ptr<float>() + block.b * of.added.stride(0) +
                                            block.head * of.added.stride(1) + block.row * of.added.stride(2)
                                      : nullptr,
          .added_stride = of.added.defined() ? of.added.stride(2) : 0,
          .kept = nullptr};
}

/// scores ← x·wᵀ of a block's rows of x, and the columns' rows of w in panels.
void multiply_by_columns(const Blocks& of, const RowBlock& block, const HeadRows& x, const float* panels,
                         float* scores) {
  multiply({x.row(block.row), x.step, 1, panels, kPanel, of.d * kPanel, scores, of.step, block.rows,
            in_panels(block.columns), of.d, false});
}

/// y ← scores·w: into a block's rows of y.
void multiply_by_scores(const Blocks& of, const RowBlock& block, const float* scores, const HeadRows& w,
                        const HeadRows& y) {
  multiply({scores, of.step, 1, w.data, w.step, kPanel, y.row(block.row), y.step, block.rows, of.d,
            block.columns, false});
}

/// y ← y + scoresᵀ·x: into the columns' rows of y.
void add_to_columns(const Blocks& of, const RowBlock& block, const float* scores, const HeadRows& x,
                    const HeadRows& y) {
  multiply({scores, 1, of.step, x.row(block.row), x.step, kPanel, y.data, y.step, block.columns, of.d,
            block.rows, true});
}

/// Calls f(room, sequence, key head) for all, in LibTorch's threads.
template <typename F>
void for_key_heads(const Blocks& of, bool goes_back, const F& f) {
  const std::int64_t all = of.q.size(0) * of.heads;
  if (!has_values()) {
    std::vector<Room> rooms;  // of each thread
    for (std::int64_t i = 0; i < std::min<std::int64_t>(all, at::get_num_threads()); ++i)
      rooms.emplace_back(of, goes_back);
    return;
  }
  in_threads(all, [&](std::int64_t begin, std::int64_t end) {
    const Room room(of, goes_back);
    for (std::int64_t i = begin; i < end; ++i) f(room, i / of.heads, i % of.heads);
  });
}

template <typename F>
void for_row_blocks(const Blocks& of, std::int64_t b, std::int64_t key_head, const F& f) {
  for (std::int64_t head = key_head * of.group; head < (key_head + 1) * of.group; ++head)
    for (std::int64_t row = 0; row < of.rows; row += of.at_once) f(RowBlock(of, b, head, row));
}

}  // namespace

bool takes_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const TileMask& mask) {
  return q.numel() > 0 && k.numel() > 0 && q.size(3) % kWidths == 0 && v.size(3) == q.size(3) &&
         stored_plainly(q) && stored_plainly(k) && stored_plainly(v) &&
         (!mask.bias.defined() || stored_plainly(mask.bias));
}

bool is_fast_by_row_blocks(const at::Tensor& q, const at::Tensor& k) {
  return q.scalar_type() == at::kFloat && q.size(2) >= kFewColumns && k.size(2) >= kFewColumns &&
         k.size(2) <= kManyColumns;
}

Attended attend_by_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const TileMask& mask) {
  const Blocks of(q, k, v, mask);
  Attended all{at::empty({q.size(0), of.rows, q.size(1), of.d}, of.q.options()).transpose(1, 2),
               at::empty({q.size(0), q.size(1), of.rows}, of.q.options())};
  auto* const lse = all.lse.mutable_data_ptr<float>();
  for_key_heads(of, false, [&](const Room& room, std::int64_t b, std::int64_t key_head) {
    const HeadRows keys = head_of(of.k, b, key_head);
    transpose_to_panels(keys.data, keys.step, of.columns, of.d, room.keys);
    const HeadRows values = room.together(head_of(of.v, b, key_head), of.columns, of.d);
    for_row_blocks(of, b, key_head, [&](const RowBlock& block) {
      multiply_by_columns(of, block, head_of(of.q, b, block.head), room.keys, room.scores);
      ScoreRows rows = score_rows(of, block, room.scores);
      KeptInRows kept;
      if (!of.kept.all()) rows.kept = &(kept = of.kept.of(b, block.head, block.row, room.words));
      softmax_rows(rows, lse + (b * q.size(1) + block.head) * of.rows + block.row);
      multiply_by_scores(of, block, room.scores, values, head_of(all.y, b, block.head));
    });
  });
  return all;
}

TileGradients pull_back_by_row_blocks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const RowGradients& rows, const TileMask& mask, bool of_bias) {
  const Blocks of(q, k, v, mask);
  const at::Tensor ybar = rows_of_floats(rows.ybar), lse = rows.lse.contiguous();
  const at::Tensor dot = rows.dot.defined() ? rows.dot.contiguous() : rows.dot;
  TileGradients bar{zeros_by_head(of.q), zeros_by_head(of.k), zeros_by_head(of.v), {}};
  if (of_bias && mask.bias.defined())
    bar.bias = at::zeros({q.size(0), q.size(1), of.rows, of.columns}, of.q.options());
  for_key_heads(of, true, [&](const Room& room, std::int64_t b, std::int64_t key_head) {
    const HeadRows values = head_of(of.v, b, key_head);
    const HeadRows keys = room.together(head_of(of.k, b, key_head), of.columns, of.d);
    transpose_to_panels(keys.data, keys.step, of.columns, of.d, room.keys);
    transpose_to_panels(values.data, values.step, of.columns, of.d, room.values);
    for_row_blocks(of, b, key_head, [&](const RowBlock& block) {
      const HeadRows queries = head_of(of.q, b, block.head), ybars = head_of(ybar, b, block.head);
      const std::int64_t first = (b * q.size(1) + block.head) * of.rows + block.row;
      multiply_by_columns(of, block, queries, room.keys, room.scores);
      multiply_by_columns(of, block, ybars, room.values, room.bars);
      ScoreRows scores = score_rows(of, block, room.scores);
      KeptInRows kept;
      if (!of.kept.all()) scores.kept = &(kept = of.kept.of(b, block.head, block.row, room.words));
      softmax_rows_gradients(
          scores,
          {.lse = lse.const_data_ptr<float>() + first,
           .dot = dot.defined() ? dot.const_data_ptr<float>() + first : nullptr,
           .bar = room.bars,
           .added = bar.bias.defined() ? bar.bias.mutable_data_ptr<float>() + first * of.columns : nullptr,
           .added_stride = of.columns});
      add_to_columns(of, block, room.scores, ybars, head_of(bar.v, b, key_head));
      add_to_columns(of, block, room.bars, queries, head_of(bar.k, b, key_head));
      multiply_by_scores(of, block, room.bars, keys, head_of(bar.q, b, block.head));
    });
  });
  return bar;
}

}  // namespace riesz::detail
