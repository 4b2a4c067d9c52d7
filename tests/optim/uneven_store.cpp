// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "uneven_store.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>

#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

at::Tensor flat(const std::vector<Parameter>& parameters, bool of_gradients) {
  std::vector<at::Tensor> parts;
  for (const Parameter& parameter : parameters) {
    const Vector v = of_gradients ? parameter.gradient() : parameter.value();
    parts.push_back(v.local().detach().reshape({-1}));
  }
  return at::cat(parts);
}

std::vector<std::int64_t> uneven_sizes(std::int64_t n, int workers) {
  if (workers == 1) return {n};
  std::vector<std::int64_t> sizes{0};
  for (int i = 2; i < workers; ++i) {
    sizes.push_back(n / 3);
    n -= n / 3;
  }
  sizes.push_back(n);
  return sizes;
}

}  // namespace

UnevenStore::UnevenStore(std::vector<Parameter> parameters)
    : parameters_(std::move(parameters)), partition_(parameters_.front().space().partition()) {
  const at::Tensor all = flat(parameters_, false);
  const int dp = partition_.index("dp");
  const auto me = static_cast<std::size_t>(partition_.coordinate(partition_.rank(), dp));
  const auto sizes = uneven_sizes(all.numel(), partition_.extent("dp"));
  for (std::size_t i = 0; i < me; ++i) begin_ += sizes[i];
  value_ = all.narrow(0, begin_, sizes[me]).clone();
  gradient_ = at::zeros_like(value_);
}

std::vector<Share> UnevenStore::shares() {
  const at::NoGradGuard no_gradient;
  take_gradients();
  std::vector<Share> result;
  std::int64_t before = 0;  // local elements of the parameters before this one
  for (const Parameter& parameter : parameters_) {
    const std::int64_t n = parameter.value().local().numel();
    const std::int64_t from = std::clamp<std::int64_t>(begin_ - before, 0, n);
    const std::int64_t to = std::clamp<std::int64_t>(begin_ + value_.numel() - before, from, n);
    const std::int64_t place = to == from ? 0 : before + from - begin_;
    result.push_back({parameter, from, value_.narrow(0, place, to - from),
                      gradient_.narrow(0, place, to - from), counted(parameter.space())});
    before += n;
  }
  return result;
}

void UnevenStore::zero_gradients() {
  for (Parameter& parameter : parameters_) parameter.zero_gradient();
  gradient_.zero_();
}

void UnevenStore::gather() {
  const at::NoGradGuard no_gradient;
  const at::Tensor all = at::cat(all_parts(partition_.along("dp"), value_));
  std::int64_t before = 0;
  for (const Parameter& parameter : parameters_) {
    const at::Tensor local = parameter.value().local().detach();
    local.copy_(all.narrow(0, before, local.numel()).view(local.sizes()));
    before += local.numel();
  }
}

void UnevenStore::take_gradients() {
  gradient_.add_(flat(parameters_, true).narrow(0, begin_, gradient_.numel()));
  for (Parameter& parameter : parameters_) parameter.zero_gradient();
}

bool UnevenStore::counted(const Space& X) const {
  for (const Axis& axis : partition_.axes()) {
    const int a = partition_.index(axis.name);
    if (axis.name != "dp" && X.placement(a) == Placement::Replicated &&
        partition_.coordinate(partition_.rank(), a) != 0) {
      return false;
    }
  }
  return true;
}

std::shared_ptr<UnevenStore> uneven(std::vector<Parameter> parameters) {
  return std::make_shared<UnevenStore>(std::move(parameters));
}

}  // namespace riesz::testing
