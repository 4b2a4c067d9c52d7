// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "../primitives/random_spaces.h"
#include "riesz/partition/vector.h"

namespace riesz::testing {

using OnVectors = std::function<Vector(const std::vector<Vector>&)>;
using OnTensors = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// Expects that an operation on random vectors of these spaces (terms arbitrary, copies equal) has the value
/// and the gradients of one on the global tensors that they mean. Collective over the spaces' partitions.
void expect_as_global(const std::vector<Space>& spaces, const OnVectors& on_vectors,
                      const OnTensors& on_tensors, double tolerance = 1e-12);

/// A space of this shape on a random grid of these workers, with axes placed in all ways, dims split in all
/// ways, also with overlaps.
Space any_lay_out(RandomSpaces& random, const Space& shape);

}  // namespace riesz::testing
