// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "riesz/train/config/config.h"

namespace riesz::app {

/// A command's configuration: the argument CONFIG.toml, and words key=value that replace keys of the file.
class Settings {
 public:
  /// Adds both to the command, and all keys to its help.
  explicit Settings(CLI::App& command);

  /// The names of all keys.
  static std::vector<std::string> keys();
  /// @throws Error where a word is wrong, whatever the file says. Local.
  void check() const;
  /// Local. @throws Error as `load_config`.
  Config config() const;
  /// The same for a command's `check`; nothing where the file is wrong, which `config` then says. Local.
  std::optional<Config> readable() const;

 private:
  std::string file_;
  std::vector<std::string> words_;
};

}  // namespace riesz::app
