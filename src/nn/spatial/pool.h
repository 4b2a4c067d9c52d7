// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/cached_function.h"

namespace riesz {

// Poolings over 1 to 3 spatial dims: x in X → y in Y. Batch, channels and spatial dims are sharded in any
// way, in X and in Y. Extents of y are torch's; dims of X and Y may be of any extent. To pool all spatial
// dims, take mean(x, {2, 3}) or max(x, {2, 3}) (vectors/reduce.h). With windows that fit y's extents:
// adaptive_pool.h.
//
// Cost, where an axis shards a spatial dim: a worker receives the inputs that its windows reach beyond its
// own, in one round (Halo). Backward sends the same elements back (HaloSum). Nothing is sent where no window
// reaches into another worker's piece.
// @throws Error naming the layer and the numbers, when it is made, where they do not fit.

/// The windows of a pooling. A list has one number for all spatial dims, or one for each.
struct PoolWindows {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride = {};     ///< default: the kernel
  std::vector<std::int64_t> padding = {0};   ///< at most half the kernel
  std::vector<std::int64_t> dilation = {1};  ///< of max pooling; 1 of AvgPool
  bool ceil_mode = false;  ///< keep a last window that begins in x or the padding before it, but leaves x?
};

/// y = the greatest element of each window, NaN where one is NaN. Padding is −∞. The gradient goes to the
/// first of several greatest elements in row-major order, also where they lie on several workers. In a window
/// of nothing but −∞ the first place gets the gradient; if that place is padding, the gradient is lost.
/// (torch gives it to the first element of x.)
class MaxPool : public Layer<MaxPool> {
 public:
  MaxPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows);

  Vector forward(const Vector& x);
  /// The places in x of y's elements, as torch's return_indices: row-major global indices in the spatial
  /// dims. A window of padding alone, which a dilation makes, has an index outside of x, as torch's.
  /// Integers; collective likewise.
  Vector indices(const Vector& x);

  std::string describe() const override;

 private:
  PoolWindows windows_;
  detail::CachedFunction values_, indices_;
};

struct AvgPoolOptions {
  bool count_include_pad = true;  ///< do zeros of the padding count in the mean?
};

/// y = the mean of each window. The part of a last window (`ceil_mode`) beyond the padding never counts.
class AvgPool : public Layer<AvgPool> {
 public:
  /// @throws Error also where there is a dilation.
  AvgPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows,
          const AvgPoolOptions& options = {});

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  PoolWindows windows_;
  AvgPoolOptions options_;
  detail::CachedFunction values_;
};

}  // namespace riesz
