// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/command.h"

#include <charconv>

namespace riesz::app {

Command::Command(CLI::App& program, const std::string& name, const std::string& about)
    : options_(*program.add_subcommand(name, about)) {}

CLI::Validator Command::at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t number = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    if (error == std::errc() && end == last && number >= least) return "";
    return "'" + text + "' must be an integer, " + std::to_string(least) + " or more";
  };
  return CLI::Validator(check, "", "at least " + std::to_string(least));
}

void Command::add_ranks() {
  add_integer("-n,--ranks", ranks_, "Starts N ranks on this host, as mpirun -n N does")->type_name("N");
}

void Command::add_json() { options_.add_flag("--json", json_, "Prints the result as JSON"); }

void Command::add_quiet() {
  options_.add_flag("--quiet", quiet_, "Prints the result and errors alone: no progress, no notes");
}

}  // namespace riesz::app
