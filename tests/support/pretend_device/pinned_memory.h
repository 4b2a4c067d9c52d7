// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

namespace riesz::testing::pretend {

/// The allocator of pinned host memory.
c10::Allocator& pinned_memory();

/// True if an address lies in pinned memory.
bool is_pinned_address(const void* address);

/// The current stream copies from or to a pinned tensor: it is not used again before that is done.
void use_pinned(const at::Tensor& pinned);

}  // namespace riesz::testing::pretend
