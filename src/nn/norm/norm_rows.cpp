// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/norm/norm_rows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "riesz/nn/kernels/compute_rows.h"
#include "riesz/nn/kernels/stored.h"
#include "riesz/nn/norm/norm_of_row.h"

namespace riesz::detail {
namespace {

/// Σ over the first dim of (parts, n), in order. A device adds in an order of its own, the same in each run.
at::Tensor sum_in_order(const at::Tensor& parts) {
  if (!parts.is_cpu()) return at::sum(parts, {0});
  const std::int64_t n = parts.size(1);
  at::Tensor sum = at::zeros({n}, parts.options());
  if (!has_values()) return sum;
  const float* from = parts.const_data_ptr<float>();
  float* const to = sum.mutable_data_ptr<float>();
  for (std::int64_t part = 0; part < parts.size(0); ++part, from += n)
    for (std::int64_t i = 0; i < n; ++i) to[i] += from[i];
  return sum;
}

template <typename Number, bool centred>
NormOfRow<Number, centred> norm_of_row(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                       double epsilon, const NormedRows& to) {
  return {numbers_of<Number>(x),
          x.size(1),
          weight.const_data_ptr<float>(),
          centred ? bias.const_data_ptr<float>() : nullptr,
          static_cast<float>(epsilon),
          numbers_to<Number>(to.y),
          centred ? to.mean.mutable_data_ptr<float>() : nullptr,
          to.scale.mutable_data_ptr<float>()};
}

template <typename Number, bool centred>
void norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
          const NormedRows& to) {
  compute_rows(x.device(), x.size(0), x.size(1), norm_of_row<Number, centred>(x, weight, bias, epsilon, to));
}

template <typename Number, bool centred>
void norm_again(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const NormedRows& to) {
  compute_rows(x.device(), x.size(0), x.size(1),
               NormOfRowAgain<Number, centred>{norm_of_row<Number, centred>(x, weight, bias, 0, to)});
}

template <typename Number, bool centred, bool weighted>
void gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight, const NormedRows& rows,
               std::int64_t rows_of_part, const NormGradients& to) {
  const std::int64_t m = x.size(0), n = x.size(1);
  compute_rows(
      x.device(), (m + rows_of_part - 1) / rows_of_part, rows_of_part * n,
      GradientsOfPart<Number, centred, weighted>{
          numbers_of<Number>(ybar), numbers_of<Number>(x), m, n, rows_of_part, weight.const_data_ptr<float>(),
          centred ? rows.mean.const_data_ptr<float>() : nullptr, rows.scale.const_data_ptr<float>(),
          numbers_to<Number>(to.x), weighted ? to.weight.mutable_data_ptr<float>() : nullptr,
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
  // A device has more teams at once than a CPU has threads.
  const std::int64_t most_parts = x.is_cpu() ? 32 : 512, least_rows = x.is_cpu() ? 64 : 16;
  const std::int64_t m = x.size(0), rows_of_part = std::max(least_rows, (m + most_parts - 1) / most_parts);
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

bool has_norm_rows(at::Device device) {
  return device.is_cpu() || has_kernel<NormOfRow<float, true>>(device);
}

}  // namespace riesz::detail
