// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "riesz/io/arrays/stored_array.h"

namespace riesz {

/// The moments of a channel of fields, over rows and points.
struct Moments {
  double mean = 0, variance = 0;
};

// Each worker of the job reads a share of the rows once, a few megabytes at a time. The result has the same
// bits on every worker and for every number of workers. The constructor and check_labels are collective over
// the job.

/// The moments of each row and channel of fields.
class FieldMoments {
 public:
  /// Reads all rows, as numbers of type `as`. @throws Error on all workers, naming a row with a number that
  /// is not finite in that type.
  FieldMoments(const StoredArray& fields, at::ScalarType as);

  /// The moments of each channel, over these rows. Local.
  std::vector<Moments> over(const Interval& rows) const;
  /// The sum of the squares of a row's numbers. Local.
  double squares(std::int64_t row) const;

 private:
  at::Tensor table_;  ///< (rows, channels, 3): the count, the mean, and the squares of distances from it
};

/// @throws Error on all workers, naming a pixel whose label is not from 0 to one below `labels`.
void check_labels(const StoredArray& masks, std::int64_t labels);

}  // namespace riesz
