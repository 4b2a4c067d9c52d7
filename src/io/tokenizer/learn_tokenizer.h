// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

struct LearnOptions {
  std::int64_t vocabulary = 8192;  ///< tokens in all: 256 bytes, what is learnt, and the special ones
  std::int64_t least_count = 2;    ///< a pair that stands more rarely is not joined
  std::vector<std::string> special = {"<|endoftext|>"};  ///< the last numbers; the first one ends documents
};

/// Learns a byte-pair vocabulary with GPT-2's pattern. Again and again the most frequent pair of neighbouring
/// tokens within words becomes one token; among equals it is the pair of smaller numbers. The result does not
/// depend on the order of the texts. Cost: the texts once, then a step for each token over the words that
/// have its pair. Where no pair is frequent enough any more, the vocabulary is smaller.
/// @throws Error unless the vocabulary has room for the bytes and the special tokens.
TokenizerParts learn_tokenizer(const std::vector<std::string_view>& texts, const LearnOptions& options = {});

/// @throws Error as `learn_tokenizer` would for these options, before it reads a text.
void check_vocabulary(const LearnOptions& options);

/// The same for texts that need not be in memory at once: `each_text` calls its argument with each of them.
using EachText = std::function<void(const std::function<void(std::string_view text)>& take)>;
TokenizerParts learn_tokenizer(const EachText& each_text, const LearnOptions& options = {});

}  // namespace riesz
