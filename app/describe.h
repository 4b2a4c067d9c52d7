// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace riesz::app {

// The program's commands and options for shells, manuals and pages, all from CLI11's tree.

/// The commands' names, in the help's order.
std::vector<std::string> command_names(const CLI::App& program);
/// The names of a command's options, such as "--json" and "-n".
std::vector<std::string> option_names(const CLI::App& command);
/// "a, b or c".
std::string list_of(const std::vector<std::string>& names);

/// A script for a shell, bash, zsh or fish, that completes commands, options, keys and files; "" for another
/// shell.
std::string completion(const CLI::App& program, const std::string& shell);
/// The manual page, riesz(1), in roff.
std::string man_page(const CLI::App& program);
/// Every command and its options as Markdown, which is docs/reference/commands.md.
std::string commands_markdown(const CLI::App& program);

}  // namespace riesz::app
