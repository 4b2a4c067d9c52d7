// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

namespace riesz::app {

/// Replaces this process by the launcher that came with the program, which starts `ranks` ranks of it with
/// the same words but for `-n`. Returns what is wrong where that cannot be done.
std::string launch(std::int64_t ranks, int argc, char** argv);

}  // namespace riesz::app
