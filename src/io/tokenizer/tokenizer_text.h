// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz::detail {

/// The members of tokenizer.json besides the model's vocabulary and merges.
struct TokenizerSteps {
  nlohmann::ordered_json pre_tokenizer;
  nlohmann::ordered_json post_processor;
};

/// The member ByteLevel, which writes words in the alphabet of bytes; with GPT-2's cuts or without.
nlohmann::ordered_json byte_level(bool prefix_space, bool trim_offsets, bool cuts);

/// The text of a tokenizer.json. The parts' pre-tokenizer and template are not used: `steps` has them, as
/// JSON.
std::string tokenizer_json_text(const TokenizerParts& parts, const TokenizerSteps& steps);

/// The vocabulary as JSON, words by number.
nlohmann::ordered_json words_of(const TokenizerParts& parts);

}  // namespace riesz::detail
