// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/spatial/padding.h"
#include "riesz/primitives/operator.h"

namespace riesz {

/// The windows of a convolution. A list has one number for all dims of space, or one for each.
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

/// A convolution: the contraction with windows, of 1 to 3 dims of space,
///
///     y[b, o, j] = Σ x[b, c, stride·j − padding + dilation·i]·w[o, c, i]     over c and i
///
/// on X × W × Y*. The letters of `spec` say how dims belong together. "bchw,ocyx->bohw" has the batch b, the
/// channels c and o, the space h and w, and the kernel y and x. With groups, c of w are the channels of one
/// group.
///
/// Each axis of W's grid has one parallel index, by the rule of `Contraction`. The channels' are those of the
/// contraction: feature-, channel- and general-parallel convolution are choices of the three spaces. Where
/// the index is of space, each worker computes its outputs, and reads what they need of x: a halo of any
/// width. With groups the channels are read so too. A kernel is never cut, so a w that is sharded along it is
/// gathered. A second axis on one dim of space has no index: its workers compute the same. So give one axis
/// to each.
///
/// The value is the same function on each worker's part, torch's own, and so are its gradients. All
/// communication is the three natural maps and their adjoints. Backward keeps the part of x that was read, in
/// place of x. But where reading w moves it, nothing is kept. Backward then reads both and makes the product
/// again, so that no gathered weight lives until then.
class Convolution {
 public:
  /// Plans it. X and W bind Y's dims of any extent; X has none.
  /// @throws Error naming the numbers and spaces where extents, units or windows do not fit.
  Convolution(const std::string& spec, const Space& X, const Space& W, const Space& Y,
              const ConvWindows& windows = {});

  const std::string& spec() const;
  /// Y, with every dim bound.
  const Space& range() const;
  /// The parallel index of each axis of W's grid; '-' for none.
  const Parallel& parallel() const;
  /// How operand 0 (x), 1 (w) or 2 (ȳ) is read: stored space → computing space.
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
  ///     x̄[b, c, i] = Σ y[b, o, j]·w[o, c, k]     over o and all j, k with stride·j − padding + dilation·k =
  ///     i
  ///
  /// It reads y as backward does, and writes by the adjoint of the read of x, which adds workers' terms of
  /// one element. Differentiable likewise.
  Vector transposed(const Vector& y, const Vector& w) const;
  Traffic transposed_traffic(int rank) const;

  struct Plan;

 private:
  std::shared_ptr<const Plan> plan_;
};

/// Such as "convolution bchw,ocyx->bohw on sp: h; it reads x by …".
std::string to_string(const Convolution& convolution);

}  // namespace riesz
