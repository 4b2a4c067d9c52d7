// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"

namespace riesz::app {

std::vector<std::unique_ptr<Command>> all_commands(CLI::App& program) {
  std::vector<std::unique_ptr<Command>> all;
  for (const auto add : {train_command, generate_command, evaluate_command, classify_command, predict_command,
                         convert_command, tokenize_command, inspect_command, explain_command,
                         plan_memory_command, verify_command, schedule_command, doctor_command})
    all.push_back(add(program));
  return all;
}

}  // namespace riesz::app
