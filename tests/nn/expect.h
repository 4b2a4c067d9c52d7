// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "../primitives/random_spaces.h"
#include "riesz/nn/parameter.h"
#include "riesz/partition/vector.h"

namespace riesz::testing {

/// Equal shapes, and max|a − b| ≤ tolerance·max(1, max|b|).
::testing::AssertionResult is_close(const at::Tensor& a, const at::Tensor& b, double tolerance = 1e-12);

/// Equal shapes, and |a − b| ≤ bound, element by element.
::testing::AssertionResult is_within(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bound);

/// u: rounding to the type changes a number by a factor of 1 ± u at most, unless it is too small for that.
double unit_roundoff(at::ScalarType type);

/// Does x lie in its space, with equal replicas and copies, and mean `global`? Collective over its partition;
/// true outside.
::testing::AssertionResult means(const Vector& x, const at::Tensor& global, double tolerance = 1e-12);

/// The vector of X that means `global`, a leaf to differentiate by.
Vector leaf(const Space& X, const at::Tensor& global);

/// Gives an initialised parameter the value `global`, in its space's shape, and returns it.
Vector set(const Parameter& parameter, const at::Tensor& global);

/// Normal draws of a shape by a seed, alike on all workers.
at::Tensor draws(const std::vector<std::int64_t>& shape, std::uint64_t seed);

/// All workers of the job on every grid (dp, tp).
std::vector<Partition> meshes();

/// Some of the job's workers, most often all, in any order.
Partition some_workers(RandomSpaces& random);

}  // namespace riesz::testing
