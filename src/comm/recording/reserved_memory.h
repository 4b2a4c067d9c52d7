// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace c10 {
struct Allocator;
}

namespace riesz {

/// Memory of the host whose pages are there once they are touched: as much as there are addresses, whatever
/// the host has. It has small pieces from `common`. Private to this room.
c10::Allocator* reserved_memory(c10::Allocator* common);

}  // namespace riesz
