// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/app/jobs/form.h"
#include "riesz/app/models/load_model.h"
#include "riesz/generation/evaluate.h"

namespace riesz::app {

/// The words of `riesz evaluate`.
struct EvaluateWords {
  ModelWords model;
  std::string text;  ///< a file
  EvaluateOptions options;
  bool quiet = false;  ///< without a note of which model was taken
};

/// The loss and perplexity of a text by a model, of tokens and of bytes, as text or JSON. Collective over
/// the job. @throws Error before anything is computed, naming what is missing or out of range.
std::string evaluate_report(const EvaluateWords& words, Form form = Form::text);

}  // namespace riesz::app
