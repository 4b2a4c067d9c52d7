// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::app {

/// Writes a result on standard output, on the job's first rank alone. Local. Whether all could be written is
/// looked at once, at the program's end (main.cpp).
void print_result(const std::string& text);

}  // namespace riesz::app
