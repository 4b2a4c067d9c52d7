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

/// How the outputs of one dim of y read the inputs of the dim of x with the same letter. A dim that is read
/// element by element has none.
struct DimReading {
  std::int64_t inputs;
  std::int64_t outputs;
  /// From the first to the last input that these outputs read, padding included: outputs are not empty.
  std::function<Interval(const Interval&)> reach;
  PaddingMode mode = PaddingMode::zeros;
  /// Outputs that are computed at once lie in one run of `run`, or are whole runs; 0: any are. Runs are the
  /// channels of a group.
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

/// Puts z, which lies as `inputs_of` gives it, where it is among `size` elements of a dim; zero elsewhere,
/// and added up where an input is read several times. The adjoint of `inputs_of`.
at::Tensor put_back(const Piece& part, const at::Tensor& z, std::int64_t dim, std::int64_t size);

/// Calls f with one part of each dim, for all of them.
void each_of_pieces(const std::vector<std::vector<Piece>>& pieces,
                    const std::function<void(const std::vector<Piece>&)>& f);

/// f of one part of each dim, for all of them, put together along the dims that `dims` names.
at::Tensor over_pieces(const std::vector<std::vector<Piece>>& pieces, const std::vector<std::int64_t>& dims,
                       const std::function<at::Tensor(const std::vector<Piece>&)>& f);

}  // namespace riesz::detail
