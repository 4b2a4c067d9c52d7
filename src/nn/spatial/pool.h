// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/functions_by_x.h"

namespace riesz {

// Poolings over 1 to 3 dims of space, from X to Y, wherever both lie: batch, channels and space are sharded
// in any way. Extents of y are torch's; dims of X and Y may be of any extent. Where an axis shards the space
// of y, a worker computes its outputs, and reads what they need of x, a halo of any width. Nothing is sent
// where no window reaches into another worker's piece. To pool all of space, take mean(x, {2, 3}) or max(x,
// {2, 3}) (vectors/reduce.h). @throws Error naming the layer and the numbers, when it is made, where they do
// not fit.

/// The windows of a pooling. A list has one number for all dims of space, or one for each.
struct PoolWindows {
  std::vector<std::int64_t> kernel;
  std::vector<std::int64_t> stride = {};  ///< unless given, the kernel
  std::vector<std::int64_t> padding = {0};
  std::vector<std::int64_t> dilation = {1};
  bool ceil_mode = false;  ///< keep a last window that begins in x or the padding before it, but leaves x?
};

/// y = the greatest element of each window, NaN where one is NaN. Padding is −∞. The gradient goes to the
/// first of several greatest elements in row-major order, also where they lie on several workers. A window
/// that reads padding and has nothing but −∞ passes no gradient on.
class MaxPool : public Layer<MaxPool> {
 public:
  MaxPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows);

  Vector forward(const Vector& x);
  /// The places in x of y's elements, as torch's return_indices: row-major global indices in the dims of
  /// space. A window of padding alone, which a dilation makes, has an index outside of x, as torch's.
  /// Integers; collective likewise.
  Vector indices(const Vector& x);

  std::string describe() const override;

 private:
  PoolWindows windows_;
  detail::FunctionsByX values_, indices_;
};

struct AvgPoolOptions {
  bool count_include_pad = true;  ///< do zeros of the padding count in the mean?
};

/// y = the mean of each window. The part of a last window (`ceil_mode`) beyond the padding never counts.
class AvgPool : public Layer<AvgPool> {
 public:
  AvgPool(OwnerAndName place, const Space& X, const Space& Y, const PoolWindows& windows,
          const AvgPoolOptions& options = {});

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  PoolWindows windows_;
  AvgPoolOptions options_;
  detail::FunctionsByX values_;
};

/// y of the extents that Y has in space: output j of m is the mean of inputs ⌊j·n/m⌋ … ⌈(j + 1)·n/m⌉ − 1.
class AdaptiveAvgPool : public Layer<AdaptiveAvgPool> {
 public:
  AdaptiveAvgPool(OwnerAndName place, const Space& X, const Space& Y);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  detail::FunctionsByX values_;
};

/// The greatest element of the same windows, NaN where one is NaN. The gradient goes to the first of several
/// greatest ones in row-major order, also where they lie on several workers.
class AdaptiveMaxPool : public Layer<AdaptiveMaxPool> {
 public:
  AdaptiveMaxPool(OwnerAndName place, const Space& X, const Space& Y);

  Vector forward(const Vector& x);
  /// The places in x of y's elements, as torch's return_indices; the first of several NaN in a window.
  /// Integers; collective likewise.
  Vector indices(const Vector& x);

  std::string describe() const override;

 private:
  detail::FunctionsByX values_, indices_;
};

}  // namespace riesz
