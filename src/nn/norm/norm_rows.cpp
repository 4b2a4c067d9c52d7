// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/norm_rows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "riesz/nn/kernels/rows.h"
#include "riesz/nn/kernels/stored.h"

namespace riesz::detail {
namespace {

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
    const std::int64_t end = std::min(m, (part + 1) * rows_of_part);
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
        // Without the mean of v, which a compiler may fold or not: a row has the same bits in both functions.
        Numbers rest = v * w;
        if constexpr (centred) rest -= of[i].mean_v;
        part.store(Numbers((rest - u * of[i].mean_uv) * of[i].factor), xbar + (first + i) * n);
      }
      if constexpr (weighted) part.store(of_weight, to_weight);
      if constexpr (weighted && centred) part.store(of_bias, to_bias);
    });
  }
};

/// Σ over the first dim of (parts, n), in order.
at::Tensor sum_in_order(const at::Tensor& parts) {
  const std::int64_t n = parts.size(1);
  at::Tensor sum = at::zeros({n}, parts.options());
  const float* from = parts.const_data_ptr<float>();
  float* const to = sum.mutable_data_ptr<float>();
  for (std::int64_t part = 0; part < parts.size(0); ++part, from += n)
    for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  return sum;
}

template <typename Number, bool centred>
NormOfRow<Number, centred> norm_of_row(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                       double epsilon, const NormedRows& to) {
  return {x.const_data_ptr<Number>(),
          x.size(1),
          weight.const_data_ptr<float>(),
          centred ? bias.const_data_ptr<float>() : nullptr,
          static_cast<float>(epsilon),
          to.y.mutable_data_ptr<Number>(),
          centred ? to.mean.mutable_data_ptr<float>() : nullptr,
          to.scale.mutable_data_ptr<float>()};
}

template <typename Number, bool centred>
void norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
          const NormedRows& to) {
  for_each_row(x.size(0), x.size(1), norm_of_row<Number, centred>(x, weight, bias, epsilon, to));
}

template <typename Number, bool centred>
void norm_again(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const NormedRows& to) {
  for_each_row(x.size(0), x.size(1),
               NormOfRowAgain<Number, centred>{norm_of_row<Number, centred>(x, weight, bias, 0, to)});
}

template <typename Number, bool centred, bool weighted>
void gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight, const NormedRows& rows,
               std::int64_t rows_of_part, const NormGradients& to) {
  const std::int64_t m = x.size(0), n = x.size(1);
  for_each_row((m + rows_of_part - 1) / rows_of_part, rows_of_part * n,
               GradientsOfPart<Number, centred, weighted>{
                   ybar.const_data_ptr<Number>(), x.const_data_ptr<Number>(), m, n, rows_of_part,
                   weight.const_data_ptr<float>(), centred ? rows.mean.const_data_ptr<float>() : nullptr,
                   rows.scale.const_data_ptr<float>(), to.x.mutable_data_ptr<Number>(),
                   weighted ? to.weight.mutable_data_ptr<float>() : nullptr,
                   weighted && centred ? to.bias.mutable_data_ptr<float>() : nullptr});
}

}  // namespace

NormedRows norm_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon) {
  const auto of_rows = [&] { return at::empty({x.size(0)}, x.options().dtype(at::kFloat)); };
  const bool centred = bias.defined();
  NormedRows result{at::empty_like(x), centred ? of_rows() : at::Tensor(), of_rows()};
  for_stored(x.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    centred ? norm<Number, true>(x, weight, bias, epsilon, result)
            : norm<Number, false>(x, weight, bias, epsilon, result);
  });
  return result;
}

at::Tensor norm_rows_again(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const NormedRows& rows) {
  const NormedRows result{at::empty_like(x), rows.mean, rows.scale};
  for_stored(x.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    rows.mean.defined() ? norm_again<Number, true>(x, weight, bias, result)
                        : norm_again<Number, false>(x, weight, bias, result);
  });
  return result.y;
}

NormGradients norm_rows_gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight,
                                  const NormedRows& rows, bool of_weights) {
  constexpr std::int64_t kParts = 32, kLeastRows = 64;
  const std::int64_t m = x.size(0), rows_of_part = std::max(kLeastRows, (m + kParts - 1) / kParts);
  const bool centred = rows.mean.defined();
  const auto parts = [&] {
    return at::zeros({(m + rows_of_part - 1) / rows_of_part, x.size(1)}, x.options().dtype(at::kFloat));
  };
  const NormGradients each{at::empty_like(x), of_weights ? parts() : at::Tensor(),
                           of_weights && centred ? parts() : at::Tensor()};
  const auto run = [&](auto number, auto with_mean, auto with_weights) {
    gradients<decltype(number), with_mean.value, with_weights.value>(ybar, x, weight, rows, rows_of_part,
                                                                     each);
  };
  for_stored(x.scalar_type(), [&](auto number) {
    const auto of = [&](auto with_mean) {
      of_weights ? run(number, with_mean, std::true_type{}) : run(number, with_mean, std::false_type{});
    };
    centred ? of(std::true_type{}) : of(std::false_type{});
  });
  const auto summed = [](const at::Tensor& terms) {
    return terms.defined() ? sum_in_order(terms) : at::Tensor();
  };
  return {each.x, summed(each.weight), summed(each.bias)};
}

}  // namespace riesz::detail
