// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/score_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "riesz/nn/kernels/lane_math.h"
#include "riesz/nn/kernels/rows.h"

namespace riesz::detail {
namespace {

constexpr std::int64_t kOfBlock = 4;  // words of a block
constexpr float kNone = -std::numeric_limits<float>::infinity();

template <typename Words, int chains>
RIESZ_ROW std::int64_t draw(const PhiloxStream& stream, std::int64_t index, std::uint32_t* words) {
  draw_words<Words, chains>(stream, static_cast<std::uint64_t>(index / kOfBlock), words);
  return kWordsDrawn<Words, chains>;
}

/// The words of `count` indices from `index` on. Behind them it writes at most 255 more.
template <typename Words>
RIESZ_ROW void draw_run(const PhiloxStream& stream, std::int64_t index, std::int64_t count,
                        std::uint32_t* words) {
  if (const std::int64_t skipped = index % kOfBlock; skipped != 0) {
    alignas(64) std::uint32_t all[kWordsDrawn<Words, 1>];
    const std::int64_t drawn = draw<Words, 1>(stream, index, all) - skipped;
    std::memcpy(words, all + skipped, static_cast<std::size_t>(drawn) * sizeof(*all));
    words += drawn, index += drawn, count -= drawn;
  }
  while (count > 0) {
    const std::int64_t drawn = count > kWordsDrawn<Words, 2>   ? draw<Words, 4>(stream, index, words)
                               : count > kWordsDrawn<Words, 1> ? draw<Words, 2>(stream, index, words)
                                                               : draw<Words, 1>(stream, index, words);
    words += drawn, index += drawn, count -= drawn;
  }
}

/// The words of a row's first `visible` columns.
template <typename Words>
RIESZ_ROW void draw_row(const KeptInRows& kept, std::int64_t row, std::int64_t visible) {
  const std::int64_t first = kept.offset + kept.row_offsets[row];
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < kept.count && at < visible; ++i) {
    const Interval& run = kept.runs[i];
    const std::int64_t count = std::min(run.size(), visible - at);
    draw_run<Words>(kept.stream, first + run.begin, count, kept.words + at);
    at += count;
  }
}

/// `factor` where elements are kept.
template <typename Vector>
RIESZ_ROW void factors(const KeptInRows& kept, std::int64_t at, float factor, Vector& y) {
  typename BitsOf<Vector>::Type words;
  std::memcpy(&words, kept.words + at, sizeof words);
  const Vector all = Vector{} + factor;
  y = words < kept.threshold ? Vector{} : all;
}

/// What a row's softmax is of. Columns from `visible` on, to the end of the last lanes, are hidden.
template <typename Team>
RIESZ_ROW void scale_row(const ScoreRows& of, std::int64_t row, std::int64_t visible) {
  using Vector = typename Team::Numbers;
  float* const scores = of.scores + row * of.stride;
  const float* const added = of.added == nullptr ? nullptr : of.added + row * of.added_stride;
  Team::each(0, visible, [&](auto part) RIESZ_PART {
    Vector x;
    load(scores + part.at, x);  // a row has room
    x *= of.scale;
    if (added != nullptr) {
      Vector more;
      part.load(added, more);
      const Vector none = Vector{} + kNone;
      x = more == kNone ? none : x + more;
    }
    store(x, scores + part.at);
  });
  for (std::int64_t i = visible; i % kLanesOf<Vector> != 0; ++i) scores[i] = kNone;
}

constexpr std::int64_t in_lanes(std::int64_t n, std::int64_t lanes) {
  return (n + lanes - 1) / lanes * lanes;
}

template <typename Team>
RIESZ_ROW float greatest_in(const float* row, std::int64_t n) {
  using Vector = typename Team::Numbers;
  Vector most = Vector{} + kNone;
  Team::each(0, n, [&](auto part) RIESZ_PART {
    Vector x;
    part.load(row, x);
    most = x > most ? x : most;
  });
  return Team::greatest(most);
}

struct Softmax {
  ScoreRows of;
  float* lse;

  template <typename Team, typename Words>
  RIESZ_ROW void compute(std::int64_t row) const {
    using Vector = typename Team::Numbers;
    const std::int64_t visible = std::min(of.columns, of.visible + row * of.visible_more);
    const std::int64_t n = in_lanes(visible, kLanesOf<Vector>);
    float* const scores = of.scores + row * of.stride;
    scale_row<Team>(of, row, visible);
    const float most = greatest_in<Team>(scores, n), taken = most == kNone ? 0 : most;
    float sum[1];
    Team::sums(n, sum, [&](auto part, Vector(&terms)[1]) RIESZ_PART {
      Vector x;
      part.load(scores, x);
      exp_of(Vector(x - taken), terms[0]);
      part.store(terms[0], scores);
    });
    lse[row] = taken + std::log(sum[0]);
    const float one = sum[0] == 0 ? 0 : 1 / sum[0];
    if (of.kept != nullptr) draw_row<Words>(*of.kept, row, visible);
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Vector p, factor = Vector{} + one;
      part.load(scores, p);
      if (of.kept != nullptr) factors(*of.kept, part.at, one * of.kept->factor, factor);
      part.store(p * factor, scores);
    });
    if (n < of.columns) std::fill(scores + n, scores + of.columns, 0.0F);
  }
};

struct Gradients {
  ScoreRows of;
  ScoreGradients bar;

  template <typename Team, typename Words>
  RIESZ_ROW void compute(std::int64_t row) const {
    using Vector = typename Team::Numbers;
    const std::int64_t visible = std::min(of.columns, of.visible + row * of.visible_more);
    const std::int64_t n = in_lanes(visible, kLanesOf<Vector>);
    float *const scores = of.scores + row * of.stride, *const gradients = bar.bar + row * of.stride;
    scale_row<Team>(of, row, visible);
    if (of.kept != nullptr) draw_row<Words>(*of.kept, row, visible);
    const float lse = bar.lse[row] == kNone ? -kNone : bar.lse[row];
    float dot[1];
    Team::sums(n, dot, [&](auto part, Vector(&terms)[1]) RIESZ_PART {
      Vector x, ybar, p, factor;
      part.load(scores, x), part.load(gradients, ybar);
      exp_of(Vector(x - lse), p);
      if (of.kept != nullptr) {
        factors(*of.kept, part.at, of.kept->factor, factor);
        ybar *= factor;
      }
      terms[0] = p * ybar;
      part.store(p, scores), part.store(ybar, gradients);
    });
    finish<Team>(row, n, visible, bar.dot == nullptr ? dot[0] : bar.dot[row]);
    if (n < of.columns) {
      std::fill(scores + n, scores + of.columns, 0.0F);
      std::fill(gradients + n, gradients + of.columns, 0.0F);
    }
  }

  template <typename Team>
  RIESZ_ROW void finish(std::int64_t row, std::int64_t n, std::int64_t visible, float dot) const {
    using Vector = typename Team::Numbers;
    float *const scores = of.scores + row * of.stride, *const gradients = bar.bar + row * of.stride;
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Vector p, ybar, factor;
      part.load(scores, p), part.load(gradients, ybar);
      const Vector y = p * (ybar - dot);
      part.store(y * of.scale, gradients);
      if (bar.added != nullptr)
        std::memcpy(bar.added + row * bar.added_stride + part.at, &y,
                    static_cast<std::size_t>(std::min(kLanesOf<Vector>, visible - part.at)) * sizeof(float));
      if (of.kept == nullptr) return;
      factors(*of.kept, part.at, of.kept->factor, factor);
      part.store(p * factor, scores);
    });
  }
};

template <typename Kernel>
void scores_plainly(const Kernel& kernel) {
  for (std::int64_t row = 0; row < kernel.of.rows; ++row)
    kernel.template compute<OneThread<HalfLanes>, TwoWords>(row);
}
template <typename Kernel>
RIESZ_FOR_AVX2 void scores_in_avx2(const Kernel& kernel) {
  for (std::int64_t row = 0; row < kernel.of.rows; ++row)
    kernel.template compute<OneThread<HalfLanes>, FourWords>(row);
}
template <typename Kernel>
RIESZ_FOR_AVX512 void scores_in_avx512(const Kernel& kernel) {
  for (std::int64_t row = 0; row < kernel.of.rows; ++row)
    kernel.template compute<OneThread<Lanes>, EightWords>(row);
}

template <typename Kernel>
void for_score_rows(const Kernel& kernel) {
  static const auto run =
      for_this_processor(&scores_plainly<Kernel>, &scores_in_avx2<Kernel>, &scores_in_avx512<Kernel>);
  run(kernel);
}

}  // namespace

void softmax_rows(const ScoreRows& of, float* lse) { for_score_rows(Softmax{of, lse}); }

void softmax_rows_gradients(const ScoreRows& of, const ScoreGradients& gradients) {
  for_score_rows(Gradients{of, gradients});
}

}  // namespace riesz::detail
