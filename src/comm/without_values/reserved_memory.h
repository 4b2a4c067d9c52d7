// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace c10 {
struct Allocator;
}

namespace riesz {

/// The priority of allocators that are set for a while, one over another.
inline constexpr std::uint8_t kScopedAllocator = 1;

/// An allocator of host memory whose pages take up memory only once they are touched. So it can give more
/// than the host has; and more than a process has addresses for, which then may not be touched at all. It
/// takes small pieces from `common`. Private to src/comm.
c10::Allocator* reserved_memory(c10::Allocator* common);

}  // namespace riesz
