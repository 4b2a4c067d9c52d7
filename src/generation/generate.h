// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "riesz/io/tokens/sampling.h"
#include "riesz/generation/text_model.h"

namespace riesz {

struct GenerateOptions {
  SamplingOptions sampling;
  std::uint64_t seed = 0;
  std::int64_t tokens = 128;        ///< the most new ones for each prompt
  std::vector<TokenId> end;         ///< any of these ends a text, as its last token
  bool slide = false;               ///< is a full context's older half dropped? else the text ends
  std::int64_t at_once = 16;        ///< the most prompts in one call of the model
  std::int64_t read_at_once = 512;  ///< the most tokens of each prompt in one call
};

/// Why a text ended.
enum class Ended {
  tokens,   ///< it has as many new ones as asked for
  end,      ///< an end token
  told,     ///< the listener has said so, such as at a stop text
  context,  ///< the context is full
};
/// "end token", "context full" …
std::string to_string(Ended why);

struct GeneratedText {
  std::vector<TokenId> tokens;  ///< the new ones
  Ended why = Ended::tokens;
};

struct Generated {
  std::vector<GeneratedText> texts;  ///< of each prompt
  std::int64_t read = 0;             ///< tokens of prompts that were read at once, of all rows
  double read_seconds = 0;
  std::int64_t steps = 0;    ///< calls with one token of each row
  std::int64_t written = 0;  ///< tokens that these chose
  double step_seconds = 0;
  std::int64_t slid = 0;  ///< how often a full context was shortened
};

/// A listener that gets the texts as they come, by the same calls on all workers.
struct Listener {
  /// A new token; the prompt's text ends unless it returns true.
  std::function<bool(std::size_t prompt, TokenId token)> take = {};
  /// The text has ended.
  std::function<void(std::size_t prompt, Ended why)> ended = {};
};

/// Groups prompts of these lengths for generation together, in order of length. A group has at most `at_once`
/// prompts, and none is longer than the shortest by more than `tokens`. So reading the longer ones token by
/// token costs less than generating apart. Pure.
std::vector<std::vector<std::size_t>> prompt_groups(const std::vector<std::size_t>& lengths,
                                                    std::int64_t tokens, std::int64_t at_once);

/// Continues each prompt, token by token. Prompts of unequal length are in one batch, each from the first
/// position on, without padding. The tokens up to the shortest prompt's length are read at once. Then each
/// step takes one token of each row: the prompt's while there are any, then the chosen one. The draw for a
/// token is a function of (seed, prompt, place in its text), and each worker chooses the token from whole
/// rows of logits. So the tokens are the same at every layout and beside any other prompts, up to rounding. A
/// full context that slides is read again from its newer half. Collective over the model's workers. Records
/// no gradients. Cost: that of the model. For each token, V logits of each row also go to all workers.
/// @throws Error, before anything is computed, where a prompt is empty, too long for the context, or has
/// unknown tokens. Also naming an option that is out of range.
Generated generate(const TextModel& model, const std::vector<std::vector<TokenId>>& prompts,
                   const GenerateOptions& options, const Listener& listener = {});

}  // namespace riesz
