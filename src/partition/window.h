// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"
#include "riesz/partition/space.h"

namespace riesz {

/// A window that slides along one dim, as in a convolution or a pooling. Output j reads the inputs
///
///     stride·j − padding_before + dilation·i        for i = 0 … kernel − 1
///
/// of which those outside [0, n) are padding: zeros of a convolution, −∞ of a max-pooling.
struct Window {
  std::int64_t kernel;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t padding_before = 0;
  std::int64_t padding_after = 0;
};

/// The number of outputs of n inputs; 0 if the window does not fit:
///     ⌊(n + padding_before + padding_after − dilation·(kernel − 1) − 1) / stride⌋ + 1
///
/// @throws Error naming the window unless kernel, stride and dilation are 1 or more, padding and n 0 or more.
std::int64_t output_extent(const Window& window, std::int64_t n);

/// The inputs from the first to the last that these outputs read, padding included: for outputs [Y, Y + y)
///
///     [stride·Y − padding_before, stride·(Y + y − 1) + dilation·(kernel − 1) − padding_before + 1)
///
/// [0, 0) for no outputs. It may leave [0, n): `periodic` wraps it around.
Interval reach(const Window& window, const Interval& outputs);

/// A worker's need for its outputs: an interval of inputs, and padding of its own before and after them.
struct Need {
  Interval inputs;
  std::int64_t padding_before = 0;
  std::int64_t padding_after = 0;

  bool operator==(const Need&) const = default;
};

/// The need of some outputs, where the dim has n inputs. The window on these inputs, with this padding and no
/// other, gives exactly these outputs. If there are no outputs, the need is empty. An output that reads
/// padding alone needs no input.
/// @post inputs.size() + padding_before + padding_after == reach(window, outputs).size()
/// @throws Error naming both unless the outputs are inside [0, output_extent(window, n)).
Need needed(const Window& window, std::int64_t n, const Interval& outputs);

/// The input that output j of m reads in nearest up-sampling (or down-sampling) of n: ⌊j·n/m⌋, exactly.
std::int64_t nearest_input(std::int64_t n, std::int64_t m, std::int64_t output);

/// The first of the two inputs that an output reads in linear up-sampling. The second is the next one, or at
/// the end the same. The first is ⌊j·(n − 1)/(m − 1)⌋ with `align_corners`, else ⌊max(0, (j + ½)·n/m − ½)⌋,
/// exactly.
std::int64_t linear_input(std::int64_t n, std::int64_t m, std::int64_t output, bool align_corners);

/// The inputs that outputs of m, sampled from n, need; [0, 0) for no outputs.
/// @throws Error unless the outputs are inside [0, m), and there are inputs if there are outputs.
Interval needed_nearest(std::int64_t n, std::int64_t m, const Interval& outputs);
Interval needed_linear(std::int64_t n, std::int64_t m, const Interval& outputs, bool align_corners);

/// An interval wrapped around [0, n): in a periodic dim index i is i mod n. The result keeps the order, and
/// has an index as often as it comes around: periodic(4, [-1, 6)) is [3,4) [0,4) [0,2).
/// @throws Error if n is 0 and the interval is not empty.
Intervals periodic(std::int64_t n, const Interval& interval);

/// X with a halo: the space where each worker of the axis that shards `dim` holds what it needs of that dim.
/// The operator between(X, covering(X, dim, needs)) moves what workers need and lack. An index that nobody
/// needs, as with a stride larger than the kernel, stays with its owner in X, behind what the owner needs. So
/// what worker w needs is the first total(needs[w]) of its local indices.
/// @throws Error naming the space unless one axis alone shards the dim and `needs` has an entry for each of
/// its workers; or the need that leaves [0, n).
Space covering(const Space& X, int dim, const std::vector<Intervals>& needs);

}  // namespace riesz
