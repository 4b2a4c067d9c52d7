// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/primitives/primitive.h"

namespace riesz::detail {

/// A Fourier transform along one dim, which each worker has whole: from its values to its lowest frequencies,
/// or back.
struct DimTransform {
  int dim;
  std::int64_t values;       ///< n
  std::int64_t frequencies;  ///< kept: at most n, or n/2 + 1 of real values
  bool real;                 ///< are the values real?
  bool twice;                ///< of real values: do frequencies between 0 and n/2 count twice?
  bool back;                 ///< frequencies to values?
  double scale;

  /// The adjoint: the other way, by the same scale and counts.
  DimTransform adjoint() const;
};

/// The step from X to Y by this transform, where no axis of several workers shards its dim, and all other
/// dims are sharded alike. Local. Adjoint: the other way. Cost: 0 elements, 0 messages.
Step fourier_step(const Space& X, const Space& Y, const DimTransform& transform);

}  // namespace riesz::detail
