// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/ordered_sum.h"

#include <ATen/ops/add.h>

#include <cstddef>

namespace riesz {
namespace {

constexpr std::size_t kSequential = 32;

at::Tensor widened(const at::Tensor& x) { return x.to(accumulation_type(x.scalar_type())); }

at::Tensor sum_of(const std::vector<at::Tensor>& terms, std::size_t begin, std::size_t end) {
  if (end - begin > kSequential) {
    const std::size_t middle = begin + (end - begin) / 2;
    return at::add(sum_of(terms, begin, middle), sum_of(terms, middle, end));
  }
  at::Tensor sum = widened(terms[begin]);
  for (std::size_t i = begin + 1; i < end; ++i) {
    if (i == begin + 1) {
      sum = at::add(sum, widened(terms[i]));
    } else {
      sum.add_(terms[i]);
    }
  }
  return sum;
}

}  // namespace

at::ScalarType accumulation_type(at::ScalarType type) {
  return type == at::kBFloat16 || type == at::kHalf ? at::kFloat : type;
}

at::Tensor ordered_sum(const std::vector<at::Tensor>& terms) {
  if (terms.size() == 1) return terms.front();
  return sum_of(terms, 0, terms.size()).to(terms.front().scalar_type());
}

}  // namespace riesz
