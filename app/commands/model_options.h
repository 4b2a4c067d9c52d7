// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "riesz/app/models/load_model.h"

namespace riesz::app {

/// The words of a command about its trained model: the argument FOLDER, the options --device and --precision,
/// and layout settings such as layout.tp=2 or layout=dp2.tp2.
class ModelOptions {
 public:
  /// Adds them to the command. `files`: what the folder must have, for the help.
  ModelOptions(CLI::App& command, const std::string& files);

  /// Adds the argument key=value, behind the command's other arguments. `hint` ends the error of a word that
  /// is no setting.
  void add_layout(CLI::App& command, const std::string& hint = "");

  /// The layout's settings. The command line finds them among all words, and puts them here.
  std::vector<std::string>& layout_words() { return layout_; }
  /// The names of the keys among them.
  static std::vector<std::string> keys();
  /// @throws Error where they are wrong. Local.
  void check() const;
  /// Once they are checked. Local.
  ModelWords words() const;

 private:
  ModelWords words_;
  std::vector<std::string> layout_;
};

}  // namespace riesz::app
