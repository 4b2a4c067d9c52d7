// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>

#include "riesz/comm/kernels/list.h"
#include "riesz/comm/kernels/mark.h"
#include "riesz/comm/kernels/stored.h"

// The kernels of rows of norm_rows.h, for a CPU's threads and for a device's blocks of threads.
namespace riesz::detail {

/// y = (x − mean)·scale·weight + bias of one row.
template <typename Number, bool centred>
struct NormOfRow {
  const Number* x;
  std::int64_t n;
  const float *weight, *bias;
  float epsilon;
  Number* y;
  float *mean, *scale;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& team, std::int64_t row) const {
    using Numbers = typename Team::Numbers;
    const Number* const of_row = x + row * n;
    const auto width = static_cast<float>(n);
    float middle = 0, sum[1];
    if constexpr (centred) {
      Team::sums(n, sum, [&](auto part, Numbers(&term)[1]) RIESZ_PART { part.load(of_row, term[0]); });
      middle = sum[0] / width;
      mean[row] = middle;
    }
    Team::sums(n, sum, [&](auto part, Numbers(&term)[1]) RIESZ_PART {
      part.load(of_row, term[0]);
      term[0] = (term[0] - middle) * (term[0] - middle);
      part.without_rest(term[0]);
    });
    scale[row] = 1 / std::sqrt(sum[0] / width + epsilon);
    write(team, row);
  }

  /// From the row's mean and scale.
  template <typename Team>
  RIESZ_ROW void write(const Team& /*team*/, std::int64_t row) const {
    using Numbers = typename Team::Numbers;
    const float middle = centred ? mean[row] : 0, factor = scale[row];
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers a, w, b = {};
      part.load(x + row * n, a);
      part.load(weight, w);
      if constexpr (centred) part.load(bias, b);
      part.store(centred ? Numbers((a - middle) * factor * w + b) : Numbers(a * factor * w), y + row * n);
    });
  }
};

/// The same of rows whose mean and scale are known.
template <typename Number, bool centred>
struct NormOfRowAgain {
  NormOfRow<Number, centred> of;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& team, std::int64_t row) const {
    of.write(team, row);
  }
};

/// The gradients of one of the parts into which rows are cut. With u = (x − mean)·scale and v = ȳ·weight:
/// x̄ = scale·(v − mean(v) − u·mean(u·v)).
template <typename Number, bool centred, bool weighted>
struct GradientsOfPart {
  const Number *ybar, *x;
  std::int64_t m, n, rows_of_part;
  const float *weight, *mean, *scale;
  Number* xbar;
  float *weights, *biases;  // (parts, n), zeros; nullptr: not wanted

  template <typename Team>
  RIESZ_ROW void operator()(const Team& team, std::int64_t part) const {
    constexpr int kTogether = 4;  // rows that are added before they are added to memory
    const std::int64_t after = (part + 1) * rows_of_part, end = m < after ? m : after;
    std::int64_t row = part * rows_of_part;
    for (; row + kTogether <= end; row += kTogether) of_rows<kTogether>(team, row, part);
    for (; row < end; ++row) of_rows<1>(team, row, part);
  }

 private:
  struct OfRow {
    float middle, factor, mean_v, mean_uv;  // mean_v only if centred
  };

  template <typename Team>
  RIESZ_ROW void means(const Team& /*team*/, std::int64_t row, OfRow& of) const {
    using Numbers = typename Team::Numbers;
    of.middle = centred ? mean[row] : 0, of.factor = scale[row];
    float sum[2];
    Team::sums(n, sum, [&](auto part, Numbers(&terms)[2]) RIESZ_PART {
      Numbers u, w;
      part.load(x + row * n, u), part.load(ybar + row * n, terms[0]), part.load(weight, w);
      terms[0] *= w;
      terms[1] = ((u - of.middle) * of.factor) * terms[0];
    });
    const auto width = static_cast<float>(n);
    of.mean_uv = sum[1] / width;
    if constexpr (centred) of.mean_v = sum[0] / width;
  }

  template <int count, typename Team>
  RIESZ_ROW void of_rows(const Team& team, std::int64_t first, std::int64_t of_part) const {
    using Numbers = typename Team::Numbers;
    float* const to_weight = weighted ? weights + of_part * n : nullptr;
    float* const to_bias = weighted && centred ? biases + of_part * n : nullptr;
    OfRow of[count];
    for (int i = 0; i < count; ++i) means(team, first + i, of[i]);
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers w, of_weight = {}, of_bias = {};
      part.load(weight, w);
      if constexpr (weighted) part.load(to_weight, of_weight);
      if constexpr (weighted && centred) part.load(to_bias, of_bias);
      for (int i = 0; i < count; ++i) {
        Numbers u, v;
        part.load(x + (first + i) * n, u), part.load(ybar + (first + i) * n, v);
        u = (u - of[i].middle) * of[i].factor;
        of_weight += v * u, of_bias += v;
        // In steps: on a CPU a compiler fuses both functions alike, and for a GPU it fuses none of them
        // (cuda/norms.cu). So a row has the same bits in both.
        Numbers rest = v * w;
        if constexpr (centred) rest -= of[i].mean_v;
        part.store(Numbers((rest - u * of[i].mean_uv) * of[i].factor), xbar + (first + i) * n);
      }
      if constexpr (weighted) part.store(of_weight, to_weight);
      if constexpr (weighted && centred) part.store(of_bias, to_bias);
    });
  }
};

template <typename Number>
using NormKernelsOf =
    kernels::KernelList<NormOfRow<Number, true>, NormOfRow<Number, false>, NormOfRowAgain<Number, true>,
                        NormOfRowAgain<Number, false>, GradientsOfPart<Number, true, true>,
                        GradientsOfPart<Number, true, false>, GradientsOfPart<Number, false, true>,
                        GradientsOfPart<Number, false, false>>;

}  // namespace riesz::detail
