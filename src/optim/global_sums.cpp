// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/global_sums.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/dot.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "riesz/comm/host_value.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

Operator sum_over(const Partition& P, std::int64_t numbers) {
  const Space sums(P, {numbers});
  Space terms = sums;
  for (const Axis& axis : P.axes()) terms = terms.partial(axis.name);
  return between(terms, sums);
}

}  // namespace

at::Tensor global_sums(const Partition& P, const at::Tensor& mine) {
  if (mine.numel() == 0 || !P.active()) return mine;
  const at::NoGradGuard no_gradient;
  static auto& plans = *new detail::PlanCache<Operator>;
  const auto sum = plans.get(
      [&](const Operator& made) {
        return made.domain().shape().front() == mine.numel() && made.domain().partition() == P;
      },
      [&] { return sum_over(P, mine.numel()); });
  return (*sum)(Vector(sum->domain(), mine)).local();
}

at::Tensor sum_of_squares_there(const at::Tensor& x) {
  constexpr std::int64_t chunk = 1 << 22;  // is there in fp64 for a moment
  at::Tensor sum = at::zeros({}, x.options().dtype(at::kDouble));
  for (std::int64_t begin = 0; begin < x.numel(); begin += chunk) {
    const at::Tensor part = x.narrow(0, begin, std::min(chunk, x.numel() - begin)).to(at::kDouble);
    sum.add_(at::dot(part, part));
  }
  return sum;
}

double sum_of_squares(const at::Tensor& x) {
  constexpr std::int64_t chunk = 1 << 15;  // stays in cache when it is converted
  double sum = 0;
  for (std::int64_t begin = 0; begin < x.numel(); begin += chunk) {
    const at::Tensor part = x.narrow(0, begin, std::min(chunk, x.numel() - begin)).to(at::kDouble);
    sum += host_value(at::dot(part, part), 0.0);
  }
  return sum;
}

}  // namespace riesz
