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

/// How the outputs of one dim of y read the inputs of the dim of x with the same letter. A dim in which each
/// output reads its own input alone has no DimReading.
struct DimReading {
  std::int64_t inputs;
  std::int64_t outputs;
  /// From the first to the last input that these outputs read, padding included. @pre there are outputs
  std::function<Interval(const Interval&)> reach;
  PaddingMode mode = PaddingMode::zeros;
  /// The number of outputs of a group, for channels in groups. Outputs that are computed at once lie in one
  /// group, or are whole groups. 0: without groups, any may be.
  std::int64_t run = 0;
};

/// How the outputs of a sliding window read.
DimReading reading_of(const Window& window, std::int64_t inputs, PaddingMode mode = PaddingMode::zeros);
/// How channels in groups read: each output reads the inputs of its group.
DimReading reading_of_groups(std::int64_t groups, std::int64_t inputs, std::int64_t outputs);

/// Outputs that are computed at once, and what they read: `before` zeros, the inputs one after another, and
/// `after` zeros.
struct Piece {
  Interval outputs;
  Intervals inputs;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t first = 0;   ///< the global index of the first element read, padding included
  std::int64_t global = 0;  ///< that of the first output
};

/// The pieces of outputs that a worker holds, by global indices. None is empty.
std::vector<Piece> pieces_of(const DimReading& reading, const Intervals& outputs);

/// The inputs that these outputs need, each once, in ascending order.
Intervals needs_of(const DimReading& reading, const Intervals& outputs);

/// The same pieces by local indices, where a worker holds `inputs` of x and `outputs` of y.
std::vector<Piece> local_pieces(const DimReading& reading, const Intervals& inputs, const Intervals& outputs);

/// The inputs of a local part along one dim of x: a view where they lie together. Its padding is left out.
at::Tensor inputs_of(const Piece& part, const at::Tensor& x, std::int64_t dim);

/// The adjoint of `inputs_of`: puts z at its places among `size` elements of a dim. An input that was read
/// several times gets the sum. Elements that were not read are zero.
at::Tensor put_back(const Piece& part, const at::Tensor& z, std::int64_t dim, std::int64_t size);

/// Calls f with each combination of one piece of each dim.
void each_of_pieces(const std::vector<std::vector<Piece>>& pieces,
                    const std::function<void(const std::vector<Piece>&)>& f);

/// f of each combination of one piece of each dim, put together along `dims`.
at::Tensor over_pieces(const std::vector<std::vector<Piece>>& pieces, const std::vector<std::int64_t>& dims,
                       const std::function<at::Tensor(const std::vector<Piece>&)>& f);

}  // namespace riesz::detail
