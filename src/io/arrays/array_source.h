// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// An open array in a file of some format.
class ArraySource {
 public:
  virtual ~ArraySource() = default;

  /// Reads the elements of a box in row-major order into memory for that many, in the array's type.
  /// @throws Error naming the file where it cannot be read.
  virtual void read(const Box& box, void* to) const = 0;

  std::vector<std::int64_t> shape;
  at::ScalarType type = at::kFloat;
};

/// Calls f(first, count) for each run of elements of a box that lie one behind the other in a row-major array
/// of this shape, in ascending order. `first` counts the elements of the whole array. @pre no dim is empty
void for_each_run(const std::vector<std::int64_t>& shape, const Box& box,
                  const std::function<void(std::int64_t first, std::int64_t count)>& f);

}  // namespace riesz
