// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/models/load_model.h"

namespace riesz::app {

/// The words of `riesz generate`. The folder's generation_config.json gives all that is not set here.
struct GenerateWords {
  ModelWords model;
  std::string prompt;
  std::string prompts;  ///< a file of them instead
  bool raw = false;     ///< the prompt is the text itself, though the folder has a chat template
  bool chat = false;    ///< it is an error if the folder has no chat template
  std::optional<std::string> system;  ///< the message before the prompt; without it the template's own
  std::optional<double> temperature, top_p, repetition_penalty;
  std::optional<std::int64_t> top_k, tokens;
  std::vector<std::string> stops;  ///< beside those of the folder
  std::vector<std::string> ends;   ///< tokens, by number or text, in place of the folder's
  std::int64_t seed = 0;
  std::string when_full = "stop";
  std::int64_t at_once = 16;
  bool json = false;
  bool quiet = false;  ///< without the note of why texts ended and how fast they came
};

/// Continues the prompts. The first rank writes the texts on standard output as they come (`ShowTexts`), then
/// on standard error why they ended and how fast they came. Collective over the job. @throws Error before
/// anything is computed, naming what is missing, unknown or out of range.
void generate_text(const GenerateWords& words);

/// The prompts of a file, one on each line. In *.jsonl each line is JSON: a text, or an object with a text
/// named "prompt". Local. @throws Error naming the file and line.
std::vector<std::string> read_prompts(const std::string& file);

}  // namespace riesz::app
