// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "riesz/app/evaluate.h"
#include "riesz/app/generate.h"

namespace riesz::app {

/// The commands `riesz generate` and `riesz evaluate`, and their options.
class TextCommands {
 public:
  explicit TextCommands(CLI::App& program);

  /// Was one of them given?
  bool parsed() const { return generate_->parsed() || evaluate_->parsed(); }
  /// What is wrong with the words; "" where nothing is.
  std::string problem() const;
  /// Returns what the job is to print once. Collective over the job.
  std::string carry_out() const;

 private:
  GenerateWords generate_words_;
  EvaluateWords evaluate_words_;
  CLI::App* generate_ = nullptr;
  CLI::App* evaluate_ = nullptr;
};

}  // namespace riesz::app
