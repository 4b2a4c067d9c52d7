// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/nn/spatial/padding.h"
#include "riesz/partition/window.h"

namespace riesz::detail {

/// Which inputs of x the outputs of one dim of y read; both dims have one letter. A dim whose outputs read
/// their own input alone has none.
struct DimReading {
  std::int64_t inputs;
  std::int64_t outputs;
  /// From the first to the last input that these outputs read, padding included. @pre there are outputs
  std::function<Interval(const Interval&)> reach;
  PaddingMode mode = PaddingMode::zeros;
  std::int64_t group_outputs = 0;  ///< of channels in groups: outputs per group; 0 without groups
};

/// How the outputs of a sliding window read.
DimReading reading_of(const Window& window, std::int64_t inputs, PaddingMode mode = PaddingMode::zeros);
/// How channels in groups read: each output reads the inputs of its group.
DimReading reading_of_groups(std::int64_t groups, std::int64_t inputs, std::int64_t outputs);

/// A slab: outputs of one dim that one call of torch computes, and what they read: `before` zeros, the inputs
/// one after another, and `after` zeros. Its outputs lie within one group, or are whole groups.
struct Slab {
  Interval outputs;
  Intervals inputs;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t first_input = 0;   ///< the global index of the first element read, padding included
  std::int64_t first_output = 0;  ///< the global index of the first output
};

/// The slabs of the outputs that a worker holds, by global indices. None is empty.
std::vector<Slab> slabs_of(const DimReading& reading, const Intervals& outputs);

/// The inputs that these outputs need, each once, in ascending order.
Intervals needs_of(const DimReading& reading, const Intervals& outputs);

/// The same slabs by local indices, where a worker holds `inputs` of x and `outputs` of y.
std::vector<Slab> local_slabs(const DimReading& reading, const Intervals& inputs, const Intervals& outputs);

/// x.narrow along a dim, or x itself if that is all of it: a view's backward would copy the gradient.
at::Tensor narrowed(const at::Tensor& x, std::int64_t dim, const Interval& to);

/// The inputs of a local slab along one dim of x: a view where they lie together. Its padding is left out.
at::Tensor inputs_of(const Slab& slab, const at::Tensor& x, std::int64_t dim);

/// The adjoint of `inputs_of`: puts z at its places among `size` elements of a dim. An input that was read
/// several times gets the sum. Elements that were not read are zero.
at::Tensor scatter_add(const Slab& slab, const at::Tensor& z, std::int64_t dim, std::int64_t size);

/// Each combination of one slab of each dim; the last dim changes fastest.
std::vector<std::vector<Slab>> combinations_of(const std::vector<std::vector<Slab>>& slabs);

/// f of each combination of one slab of each dim, put together along `dims`.
at::Tensor over_slabs(const std::vector<std::vector<Slab>>& slabs, const std::vector<std::int64_t>& dims,
                      const std::function<at::Tensor(const std::vector<Slab>&)>& f);

}  // namespace riesz::detail
