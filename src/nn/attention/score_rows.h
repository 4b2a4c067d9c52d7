// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/random/philox_lanes.h"
#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Which probabilities of some rows dropout keeps, by their global indices. The mask is never stored; only
/// one row's random words are.
struct KeptInRows {
  PhiloxStream stream;
  std::uint32_t threshold;          ///< an element is dropped where its word is less
  float factor;                     ///< multiplies each kept probability
  const std::int64_t* row_offsets;  ///< by row, the global index of its column 0, less `offset`
  std::int64_t offset;
  const Interval* runs;  ///< of the columns
  std::int64_t count;    ///< of runs
  std::uint32_t* words;  ///< room for `words_of(columns)`
};

/// Room that the words of so many columns take, rounded up to what is drawn at once.
constexpr std::int64_t words_of(std::int64_t columns) { return columns + 256; }

/// Neighbouring rows of q·kᵀ of one head, fp32. A row has room for whole panels of columns.
struct ScoreRows {
  float* scores;
  std::int64_t stride;  ///< floats from one row to the next
  std::int64_t rows;
  std::int64_t columns;       ///< that are computed
  std::int64_t visible;       ///< columns that row 0 sees
  std::int64_t visible_more;  ///< additional columns that each later row sees
  float scale;
  const float* added;  ///< to the scaled scores, or nullptr; −∞ hides a column, whatever its score
  std::int64_t added_stride;
  const KeptInRows* kept;  ///< nullptr: all
};

/// Each row becomes p = softmax(scale·scores + added), with dropout's factors. `lse` gets the log-sum-exp of
/// each row: −∞ where nothing is seen, and p is 0; NaN where a score is NaN or +∞, and p is too.
void softmax_rows(const ScoreRows& of, float* lse);

/// The gradients of rows that `softmax_rows` made. It takes scores as they were, and draws again.
struct ScoreGradients {
  const float* lse;  ///< of all columns, also those of other tiles
  const float* dot;  ///< by row Σ ȳ·y, or nullptr: all columns are here
  float* bar;        ///< the gradients of what came out; they become those of the scores
  float* added;      ///< those of what is added, or nullptr
  std::int64_t added_stride;
};

/// The scores become p with dropout's factors m, and bar becomes scale·p·(m·bar − dot), the gradient of the
/// scores (FlashAttention-2, 2307.08691). Columns of `bar` lie as those of the scores.
void softmax_rows_gradients(const ScoreRows& of, const ScoreGradients& gradients);

}  // namespace riesz::detail
