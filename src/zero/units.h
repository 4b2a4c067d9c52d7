// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/parameter.h"

namespace riesz {

/// Parameters of one type whose gradients are summed over the same axes: what lies flat in one buffer.
struct BucketPlan {
  std::string name;               ///< for people and counters, such as "transformer.h.3"
  std::vector<std::string> axes;  ///< of the grid
  at::ScalarType type;
  std::vector<std::size_t> parameters;
};

/// Neighbouring modules whose parameters are gathered, reduced and let go together.
struct Unit {
  std::string name;
  std::vector<std::size_t> buckets;
};

struct UnitPlan {
  std::vector<BucketPlan> buckets;
  std::vector<Unit> units;
  std::vector<std::size_t> unit_of;  ///< by parameter
};

/// Parts the parameters, in their order, into units: a numbered part of a model ("transformer.h.3") is one,
/// and so is a module outside of those. Neighbours are put together as long as they have at most `elements`
/// on the partition's first worker. In a unit, parameters of one type that are Replicated on the same of
/// `axes` share a bucket: on those their gradients are summed. The same plan on all workers.
/// @throws Error naming a parameter that cannot be trained (`check_trainable`).
UnitPlan plan_units(const std::vector<Parameter>& parameters, const std::vector<std::string>& axes,
                    std::int64_t elements);

}  // namespace riesz
