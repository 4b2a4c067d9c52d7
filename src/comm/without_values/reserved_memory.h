// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace c10 {
struct Allocator;
}

namespace riesz {

/// An allocator of host memory whose pages take up memory only once they are touched. So it can give more
/// than the host has. It takes small pieces from `common`. Private to src/comm.
c10::Allocator* reserved_memory(c10::Allocator* common);

}  // namespace riesz
