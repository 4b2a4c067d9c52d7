// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// As if the system had no memory left, or as it is: for what is taken by `posix_fallocate`.
void set_memory_full(bool full);

}  // namespace riesz
