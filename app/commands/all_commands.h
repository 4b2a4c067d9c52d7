// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/app/commands/command.h"

namespace riesz::app {

// Each adds its command to the program. Its file says what the command does.
std::unique_ptr<Command> train_command(CLI::App& program);
std::unique_ptr<Command> generate_command(CLI::App& program);
std::unique_ptr<Command> evaluate_command(CLI::App& program);
std::unique_ptr<Command> classify_command(CLI::App& program);
std::unique_ptr<Command> predict_command(CLI::App& program);
std::unique_ptr<Command> convert_command(CLI::App& program);
std::unique_ptr<Command> tokenize_command(CLI::App& program);
std::unique_ptr<Command> inspect_command(CLI::App& program);
std::unique_ptr<Command> explain_command(CLI::App& program);
std::unique_ptr<Command> plan_memory_command(CLI::App& program);
std::unique_ptr<Command> verify_command(CLI::App& program);
std::unique_ptr<Command> schedule_command(CLI::App& program);
std::unique_ptr<Command> doctor_command(CLI::App& program);

/// All of them, in the order of the help.
std::vector<std::unique_ptr<Command>> all_commands(CLI::App& program);

}  // namespace riesz::app
