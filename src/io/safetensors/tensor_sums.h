// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/io/safetensors/stored_tensors.h"

namespace riesz {

/// Sums over the elements of a tensor, in fp64. A complex number counts as two.
struct TensorSums {
  double sum = 0;               ///< of the finite ones
  double greatest = 0;          ///< magnitude of the finite ones
  std::int64_t not_finite = 0;  ///< how many are NaN or infinite
};

/// Local. Cost: the tensor is read once, a part at a time. @throws Error as `StoredTensors::read`.
TensorSums sums_of(const StoredTensors& files, const StoredTensor& tensor);

/// How two tensors of one shape differ: integers exactly, all else in fp64.
struct TensorDifference {
  std::int64_t elements = 0;    ///< that differ; two NaN do not; a complex number counts as two
  double greatest = 0;          ///< |a − b| of those that are finite in both
  std::int64_t not_finite = 0;  ///< of those that differ, how many are not
};

/// Local. Cost: both are read once, a part at a time. @pre both have the tensor, in one type and shape
TensorDifference difference_of(const StoredTensors& a, const StoredTensors& b, const StoredTensor& tensor);

}  // namespace riesz
