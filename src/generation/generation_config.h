// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/tokens/sampling.h"

namespace riesz {

/// The settings with which a model generates, as its folder has them.
struct GenerationConfig {
  SamplingOptions sampling;                ///< a temperature of 0 unless do_sample is true
  std::vector<TokenId> end;                ///< eos_token_id, one or a list
  std::vector<std::string> stops;          ///< stop_strings
  std::optional<std::int64_t> new_tokens;  ///< max_new_tokens
  std::optional<std::int64_t> tokens;      ///< max_length, which counts the prompt's too
};

/// Reads the text of a generation_config.json. With do_sample and no top_k, top_k is 50, as in Hugging Face's
/// libraries. @throws Error naming `origin` and a key that is unknown, has another type, or asks for
/// something unsupported, such as beams.
GenerationConfig parse_generation_config(const std::string& json, const std::string& origin);

/// Reads a model's folder: its generation_config.json, if there is one. Where that names no end tokens, they
/// come from config.json. Local. @throws Error as `parse_generation_config`.
GenerationConfig read_generation_config(const std::filesystem::path& folder);

}  // namespace riesz
