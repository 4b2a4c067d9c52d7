// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::app {

/// Writes a result on standard output, on the job's first rank alone. Local. The program checks at its end
/// (main.cpp) that all could be written.
void print_result(const std::string& text);

}  // namespace riesz::app
