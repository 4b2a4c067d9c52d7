// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/norm_rows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

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
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    using Numbers = typename Team::Numbers;
    const Number* const of_row = x + row * n;
    const auto width = static_cast<float>(n);
    float middle = 0;
    if constexpr (centred) {
      Numbers sum = {};
      Team::each(0, n, [&](auto part) RIESZ_PART {
        Numbers a;
        part.load(of_row, a);
        sum += a;
      });
      middle = Team::sum(sum) / width;
      mean[row] = middle;
    }
    Numbers squares = {};
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers a;
      part.load(of_row, a);
      a -= middle;
      part.without_rest(a);
      squares += a * a;
    });
    const float factor = 1 / std::sqrt(Team::sum(squares) / width + epsilon);
    scale[row] = factor;
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers a, w, b = {};
      part.load(of_row, a);
      part.load(weight, w);
      if constexpr (centred) part.load(bias, b);
      part.store(centred ? Numbers((a - middle) * factor * w + b) : Numbers(a * factor * w), y + row * n);
    });
  }
};

/// The gradients of one of the parts into which rows are cut.
template <typename Number, bool centred>
struct GradientsOfPart {
  const Number *ybar, *x;
  std::int64_t m, n, rows_of_part;
  const float *weight, *mean, *scale;
  Number* xbar;
  float *weights, *biases;  // (parts, n), zeros

  template <typename Team>
  RIESZ_ROW void operator()(const Team& team, std::int64_t part) const {
    const std::int64_t end = std::min(m, (part + 1) * rows_of_part);
    for (std::int64_t row = part * rows_of_part; row < end; ++row)
      of_row(team, row, weights + part * n, centred ? biases + part * n : nullptr);
  }

 private:
  /// With u = (x − mean)·scale and v = ȳ·weight: x̄ = scale·(v − mean(v) − u·mean(u·v)).
  template <typename Team>
  RIESZ_ROW void of_row(const Team& /*team*/, std::int64_t row, float* to_weight, float* to_bias) const {
    using Numbers = typename Team::Numbers;
    const Number *const a = x + row * n, *const g = ybar + row * n;
    const float middle = centred ? mean[row] : 0, factor = scale[row];
    Numbers of_v = {}, of_uv = {};
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers u, v, w, sum;
      part.load(a, u), part.load(g, v), part.load(weight, w);
      u = (u - middle) * factor;
      part.load(to_weight, sum);
      sum += v * u;
      part.store(sum, to_weight);
      if constexpr (centred) {
        part.load(to_bias, sum);
        sum += v;
        part.store(sum, to_bias);
      }
      v *= w;
      of_v += v, of_uv += u * v;
    });
    const auto width = static_cast<float>(n);
    const float mean_v = centred ? Team::sum(of_v) / width : 0, mean_uv = Team::sum(of_uv) / width;
    Team::each(0, n, [&](auto part) RIESZ_PART {
      Numbers u, v, w;
      part.load(a, u), part.load(g, v), part.load(weight, w);
      u = (u - middle) * factor;
      part.store(Numbers((v * w - mean_v - u * mean_uv) * factor), xbar + row * n);
    });
  }
};

/// Σ over the first dim of (parts, n), in order.
at::Tensor sum_in_order(const at::Tensor& parts) {
  at::Tensor sum = parts[0].clone();
  for (std::int64_t part = 1; part < parts.size(0); ++part) sum.add_(parts[part]);
  return sum;
}

template <typename Number, bool centred>
void norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
          const NormedRows& to) {
  for_each_row(x.size(0), x.size(1),
               NormOfRow<Number, centred>{
                   x.const_data_ptr<Number>(), x.size(1), weight.const_data_ptr<float>(),
                   centred ? bias.const_data_ptr<float>() : nullptr, static_cast<float>(epsilon),
                   to.y.mutable_data_ptr<Number>(), centred ? to.mean.mutable_data_ptr<float>() : nullptr,
                   to.scale.mutable_data_ptr<float>()});
}

template <typename Number, bool centred>
void gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight, const NormedRows& rows,
               std::int64_t rows_of_part, const NormGradients& to) {
  const std::int64_t m = x.size(0), n = x.size(1);
  for_each_row(
      to.weight.size(0), rows_of_part * n,
      GradientsOfPart<Number, centred>{
          ybar.const_data_ptr<Number>(), x.const_data_ptr<Number>(), m, n, rows_of_part,
          weight.const_data_ptr<float>(), centred ? rows.mean.const_data_ptr<float>() : nullptr,
          rows.scale.const_data_ptr<float>(), to.x.mutable_data_ptr<Number>(),
          to.weight.mutable_data_ptr<float>(), centred ? to.bias.mutable_data_ptr<float>() : nullptr});
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

NormGradients norm_rows_gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight,
                                  const NormedRows& rows) {
  constexpr std::int64_t kParts = 32, kLeastRows = 64;
  const std::int64_t m = x.size(0), rows_of_part = std::max(kLeastRows, (m + kParts - 1) / kParts);
  const bool centred = rows.mean.defined();
  const auto parts = [&] {
    return at::zeros({(m + rows_of_part - 1) / rows_of_part, x.size(1)}, x.options().dtype(at::kFloat));
  };
  const NormGradients each{at::empty_like(x), parts(), centred ? parts() : at::Tensor()};
  for_stored(x.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    centred ? gradients<Number, true>(ybar, x, weight, rows, rows_of_part, each)
            : gradients<Number, false>(ybar, x, weight, rows, rows_of_part, each);
  });
  return {each.x, sum_in_order(each.weight), centred ? sum_in_order(each.bias) : at::Tensor()};
}

}  // namespace riesz::detail
