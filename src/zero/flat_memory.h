// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz {

// The memory of a flat tensor can be let go and taken again: what views the tensor stays a view of it, and
// may be read while the memory is there.

/// Takes memory, of any content, unless it is there.
void take_memory(const at::Tensor& flat);
void let_memory_go(const at::Tensor& flat);

/// Elements [begin, …) of `flat` in this shape, row by row: a tensor of its own that shares the memory, a
/// leaf if it is to require gradients.
at::Tensor piece_of(const at::Tensor& flat, std::int64_t begin, at::IntArrayRef shape);

}  // namespace riesz
