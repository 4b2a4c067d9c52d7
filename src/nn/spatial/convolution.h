// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The plan of a convolution and its value, of vectors x and w. `Conv` (conv.h) is the layer.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/spatial/padding.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// The windows of a convolution. A list has one number for all spatial dims, or one for each.
struct ConvWindows {
  std::vector<std::int64_t> stride = {1};
  std::vector<std::int64_t> dilation = {1};
  Padding padding = {};
  std::int64_t groups = 1;

  bool operator==(const ConvWindows&) const = default;
};

/// The space of y for x in X and a weight of this shape: Y with its dims of any extent bound. Local.
/// @throws Error naming the numbers where window, padding, channels or groups do not fit.
Space convolved(const std::string& spec, const Space& X, const std::vector<std::int64_t>& weight_shape,
                const Space& Y, const ConvWindows& windows = {});

/// A convolution: the contraction with windows, over 1 to 3 spatial dims,
///
///     y[b, o, j] = Σ x[b, c, stride·j − padding + dilation·k]·w[o, c, k]     over c and k
///
/// on X × W × Y*. The letters of `spec` say how dims belong together. "bchw,ocrs->bohw" has the batch b, the
/// channels c and o, the height h and width w of images, and the rows r and columns s of the kernel. With
/// groups, c of w are the channels of one group.
///
/// Each axis of W's grid has one parallel index, by the rule of `Contraction`: o, c or b as in a contraction,
/// or a spatial letter. With a spatial letter each worker computes its own outputs, and reads a halo of x,
/// however wide. With groups it reads the channels of its groups. The kernel is never sharded: a w that is
/// stored so is gathered. A second axis on the same spatial dim has no index, and its workers compute the
/// same.
///
/// Each worker calls torch's convolution on its part. If reading w sends nothing, the x that was read is kept
/// for backward. Else nothing is kept: backward reads x and w again, so that no gathered weight lives until
/// then.
///
/// Cost, where an axis shards a spatial dim: a worker receives the inputs that its windows reach beyond its
/// own, in one round (Halo). Backward sends the same elements back (HaloSum).
class Convolution {
 public:
  /// Plans it. X and W bind Y's dims of any extent; X has none.
  /// @throws Error naming the numbers and spaces where extents or windows do not fit; or where a spatial dim
  /// has units other than 1.
  Convolution(const std::string& spec, const Space& X, const Space& W, const Space& Y,
              const ConvWindows& windows = {});

  const std::string& spec() const;
  /// Y, with every dim bound.
  const Space& range() const;
  /// The parallel index of each axis of W's grid; '-' for none.
  const Parallel& parallel() const;
  /// How operand 0 (x), 1 (w) or 2 (ȳ) is read: stored space → computing space. y is written by the adjoint
  /// of the read of ȳ.
  const Operator& read(int operand) const;
  bool communicates() const;
  /// Traffic that leaves the worker of `rank` of W's partition in the value, and in the gradients wanted.
  Traffic forward_traffic(int rank) const;
  Traffic backward_traffic(int rank, GradientsWanted wanted = {}) const;

  /// Computes y in Y. Differentiable any number of times; collective over the operands' partitions.
  /// @throws Error naming both spaces unless x is in X and w in W.
  Vector operator()(const Vector& x, const Vector& w) const;

  /// The transposed convolution: the face of x, from y in Y* and w to X*,
  ///
  ///     x̄[b, c, i] = Σ y[b, o, j]·w[o, c, k]     over o, j, k with i = stride·j − padding + dilation·k
  ///
  /// It reads y as backward does. It writes by the adjoint of the read of x, which adds workers' terms of one
  /// element. Differentiable likewise.
  Vector transposed(const Vector& y, const Vector& w) const;
  Traffic transposed_traffic(int rank) const;

  struct Plan;

 private:
  std::shared_ptr<const Plan> plan_;
};

/// Such as "convolution bchw,ocrs->bohw on sp: h; it reads x by …".
std::string to_string(const Convolution& convolution);

}  // namespace riesz
