// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/tokens.h"

#include <ATen/ops/empty.h>

#include <optional>

#include "riesz/nn/random/random.h"

namespace riesz::testing {
namespace {

at::Tensor drawn(const TokenDraws& draws, const std::string& name, int step) {
  at::Tensor ids = at::empty({draws.rows, draws.length}, at::kLong);
  auto* data = ids.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const auto word = philox(philox_key(draws.seed, name), static_cast<std::uint64_t>(i),
                             static_cast<std::uint64_t>(step))[0];
    data[i] = word % draws.vocabulary;
  }
  return ids;
}

}  // namespace

at::Tensor drawn_ids(const TokenDraws& draws, int step) { return drawn(draws, "ids", step); }

at::Tensor drawn_targets(const TokenDraws& draws, int step) {
  at::Tensor targets = drawn(draws, "targets", step);
  targets.view({-1}).slice(0, 0, std::nullopt, 5).fill_(-1);
  return targets;
}

Vector on(const Space& X, const at::Tensor& global) {
  return distribute(X.with_shape(global.sizes().vec()), global);
}

}  // namespace riesz::testing
