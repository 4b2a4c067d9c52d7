// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/jobs/form.h"

namespace riesz::app {

/// A command of the program: its name, its options, and what it does.
///
/// It is made, and reads its words, before MPI starts. `carry_out` then runs on every rank of the job.
class Command {
 public:
  virtual ~Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  CLI::App& options() { return options_; }
  /// Did the command line name it?
  bool chosen() const { return options_.parsed(); }
  /// Has this program the command's body (`Bodies`)? Else riesz-tools has it.
  virtual bool is_here() const = 0;
  /// The number of ranks of itself that the program must start, by `-n`. Nothing: it runs as it was started.
  virtual std::optional<std::int64_t> ranks() const { return ranks_; }

  /// The list that takes the layout's settings among the words, such as layout.tp=2. nullptr: the command has
  /// none, or takes them itself.
  virtual std::vector<std::string>* layout_words() { return nullptr; }
  /// The keys, such as "layout.tp", that the command takes as words key=value; for completion and errors.
  virtual std::vector<std::string> keys() const { return {}; }
  /// @throws Error where options contradict each other. Local; before MPI starts.
  virtual void check() const {}
  /// Carries the command out. Collective over the job. @throws Error on bad input. @pre is_here()
  virtual void carry_out() = 0;

 protected:
  Command(CLI::App& program, const std::string& name, const std::string& about);

  /// Adds an option with an integer of at least `least`.
  template <class Integer>
  CLI::Option* add_integer(const std::string& name, Integer& value, const std::string& about,
                           std::int64_t least = 1) {
    return options_.add_option(name, value, about)->type_name("N")->check(at_least(least));
  }
  /// Adds `-n RANKS`: the program starts that many ranks of itself.
  void add_ranks();
  /// Adds `--json`: the result as JSON.
  void add_json();
  /// Adds `--quiet`: the result and errors alone, no progress and no notes.
  void add_quiet();

  Form form() const { return json_ ? Form::json : Form::text; }
  bool quiet() const { return quiet_; }

 private:
  static CLI::Validator at_least(std::int64_t least);

  CLI::App& options_;
  std::optional<std::int64_t> ranks_;
  bool json_ = false;
  bool quiet_ = false;
};

}  // namespace riesz::app
