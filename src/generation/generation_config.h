// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "riesz/generation/sampling.h"

namespace riesz {

/// How a model generates, as its folder says it.
struct GenerationConfig {
  SamplingOptions sampling;                ///< a temperature of 0 unless do_sample is true
  std::vector<TokenId> end;                ///< eos_token_id, one or a list
  std::vector<std::string> stops;          ///< stop_strings
  std::optional<std::int64_t> new_tokens;  ///< max_new_tokens
  std::optional<std::int64_t> tokens;      ///< max_length, which counts the prompt's too
};

/// Reads the text of a generation_config.json; with do_sample and no top_k it is 50, as Hugging Face's
/// libraries have it. @throws Error naming `origin` and the key: where it is of another type, asks for what
/// is not done here, such as beams, or is unknown.
GenerationConfig parse_generation_config(const std::string& json, const std::string& origin);

/// Reads a model's folder: its generation_config.json, if there is one; the end tokens from its config.json
/// where that file names none. Local. @throws Error as `parse_generation_config`.
GenerationConfig read_generation_config(const std::filesystem::path& folder);

}  // namespace riesz
