// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "riesz/nn/parameter.h"
#include "riesz/optim/state.h"

namespace riesz {

/// The published shapes of vectors, by name; their spaces may be views of these.
using Shapes = std::map<std::string, std::vector<std::int64_t>>;

Shapes published_shapes(const std::vector<Parameter>& parameters);

/// The file of a checkpoint in which a vector lies, and its name there: a value in "model" under its own
/// name, all else in "optimizer" as WHAT.NAME. The words are torch's (exp_avg, exp_avg_sq, momentum_buffer,
/// …) where torch has one.
struct StoredName {
  std::string stem;
  std::string tensor;

  bool operator==(const StoredName&) const = default;
  auto operator<=>(const StoredName&) const = default;
};

StoredName stored_name(const std::string& name, const std::string& key);

/// A vector's shape in its file: the published one where that has as many elements, else the vector's own.
std::vector<std::int64_t> stored_shape(const StateView& view, const Shapes& shapes);

/// Is state of this key one worker's own? Only the same worker on the same grid can use it.
bool is_own(const std::string& key);

}  // namespace riesz
