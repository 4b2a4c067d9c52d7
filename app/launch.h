// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace riesz::app {

/// Replaces this process by the launcher that came with the program, which starts `ranks` ranks with the same
/// words except `-n`. Returns the reason if that fails.
std::string launch(const CLI::App& command, std::int64_t ranks, int argc, char** argv);

/// Is words[i] the value of the option before it?
bool is_value(const CLI::App& command, const std::vector<std::string>& words, std::size_t i);

}  // namespace riesz::app
