// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/commands/command.h"

namespace riesz::app {

/// The command line: reads the program's words, before MPI starts.
class CommandLine {
 public:
  CommandLine();

  /// The program's end without a command: a text for standard output if the status is 0, else a text that
  /// says what is wrong. The status of wrong usage is 2.
  struct End {
    int status = 0;
    std::string text;
  };
  /// Reads the words. Nothing if a command is to be carried out. Local.
  std::optional<End> read(int argc, char** argv);

  /// The command that was read.
  Command& command() const { return *chosen_; }

 private:
  std::optional<End> read_words(std::vector<std::string> words);
  End of_program(const std::vector<std::string>& words) const;
  End no_command(const std::string& name, const std::vector<std::string>& names) const;
  End refuse(const std::string& what, const std::string& help) const;
  End said(const std::string& name);
  std::string wrong_option(const CLI::App& command, const std::vector<std::string>& words) const;
  std::string meant_by(const CLI::App& command, const std::string& name) const;

  CLI::App program_{"distributed deep learning as linear algebra", "riesz"};
  std::vector<std::unique_ptr<Command>> commands_;
  Command* chosen_ = nullptr;  ///< nullptr: help, completion or man
  std::string what_, shell_;   ///< the words of help and completion
  bool markdown_ = false;
};

}  // namespace riesz::app
