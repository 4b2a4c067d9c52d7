// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "riesz/app/classify.h"

namespace riesz::app {

/// The command `riesz classify` and its options.
class ImageCommands {
 public:
  explicit ImageCommands(CLI::App& program);

  /// Was it given?
  bool parsed() const { return classify_->parsed(); }
  /// Collective over the job.
  void carry_out() const { classify_images(words_); }

 private:
  ClassifyWords words_;
  CLI::App* classify_ = nullptr;
};

}  // namespace riesz::app
