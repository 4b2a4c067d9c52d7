// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/app/load_model.h"
#include "riesz/generation/evaluate.h"

namespace riesz::app {

/// What `riesz evaluate` is told.
struct EvaluateWords {
  ModelWords model;
  std::string text;  ///< a file
  EvaluateOptions options;
};

/// What the model's logits say of the text, as text: loss and perplexity, of tokens and of bytes. Collective
/// over the job. @throws Error before anything is computed, naming what is missing or out of range.
std::string evaluate_report(const EvaluateWords& words);

}  // namespace riesz::app
