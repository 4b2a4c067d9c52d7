// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <map>
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

/// The names of the keys that commands take as words key=value, by the command's name.
using CommandKeys = std::map<std::string, std::vector<std::string>>;

/// The manual page, riesz(1), in roff.
std::string man_page(const CLI::App& program, const CommandKeys& keys);
/// The environment's variables for a terminal; and as a table of docs/reference/commands.md.
std::string environment_text();
std::string environment_markdown();
/// Every command and its options as Markdown, which is docs/reference/commands.md.
std::string commands_markdown(const CLI::App& program);

}  // namespace riesz::app
