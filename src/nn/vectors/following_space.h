// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/plan_cache.h"
#include "riesz/partition/space.h"

namespace riesz::detail {

/// The space of a function's result, which follows from the space of its argument and from some numbers, such
/// as a dim and its sizes.
struct FollowingSpace {
  Space X;
  std::vector<std::int64_t> numbers;
  Space Y;
};

/// The one for X and these numbers, where `make` gives Y. Local.
template <typename Make>
std::shared_ptr<const FollowingSpace> following(PlanCache<FollowingSpace>& plans, const Space& X,
                                                at::IntArrayRef numbers, const Make& make) {
  return plans.get(
      [&](const FollowingSpace& made) { return numbers == at::IntArrayRef(made.numbers) && made.X == X; },
      [&] {
        return FollowingSpace{X, numbers.vec(), make()};
      });
}

}  // namespace riesz::detail
