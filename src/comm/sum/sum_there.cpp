// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/sum/sum_there.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>

#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/sum/sum_of_element.h"

namespace riesz {
namespace {

using kernels::BFloat16;
using kernels::Half;
using kernels::SumOfElement;
using Terms = std::vector<at::Tensor>;

constexpr std::size_t kRun = SumOfElement<float, float>::kMost;

template <typename T, typename Out>
void queue_run(const at::Tensor* terms, std::size_t count, const at::Tensor& y) {
  SumOfElement<T, Out> sum{};
  for (std::size_t i = 0; i < count; ++i) sum.terms[i] = static_cast<const T*>(terms[i].const_data_ptr());
  sum.count = static_cast<int>(count);
  sum.out = static_cast<Out*>(y.mutable_data_ptr());
  queue_kernel(y.device(), y.numel(), 1, sum);
}

/// Sums terms of one type, which is y's or the type in which they are added.
void sum_run(const at::Tensor* terms, std::size_t count, const at::Tensor& y) {
  const at::ScalarType from = terms[0].scalar_type(), to = y.scalar_type();
  if (from == at::kDouble) return queue_run<double, double>(terms, count, y);
  if (from == at::kFloat && to == at::kFloat) return queue_run<float, float>(terms, count, y);
  if (from == at::kFloat && to == at::kBFloat16) return queue_run<float, BFloat16>(terms, count, y);
  if (from == at::kFloat) return queue_run<float, Half>(terms, count, y);
  if (from == at::kBFloat16 && to == at::kFloat) return queue_run<BFloat16, float>(terms, count, y);
  if (from == at::kBFloat16) return queue_run<BFloat16, BFloat16>(terms, count, y);
  if (to == at::kFloat) return queue_run<Half, float>(terms, count, y);
  queue_run<Half, Half>(terms, count, y);
}

void sum_into(const at::Tensor* terms, std::size_t count, const at::Tensor& y) {
  if (count <= kRun) return sum_run(terms, count, y);
  const at::TensorOptions wide = y.options().dtype(accumulation_type(terms[0].scalar_type()));
  const at::Tensor halves[] = {at::empty(y.sizes(), wide), at::empty(y.sizes(), wide)};
  sum_into(terms, count / 2, halves[0]);
  sum_into(terms + count / 2, count - count / 2, halves[1]);
  sum_run(halves, 2, y);
}

}  // namespace

bool has_sum_there(const Terms& terms, const at::Tensor& y) {
  const at::ScalarType type = y.scalar_type();
  const bool number = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  const auto fits = [&](const at::Tensor& x) {
    return x.scalar_type() == type && x.is_contiguous() && !x.is_neg() && x.device() == y.device() &&
           x.sizes() == y.sizes();
  };
  return number && has_kernel<SumOfElement<float, float>>(y.device()) && fits(y) &&
         std::all_of(terms.begin(), terms.end(), fits);
}

void sum_there(const Terms& terms, const at::Tensor& y) { sum_into(terms.data(), terms.size(), y); }

}  // namespace riesz
