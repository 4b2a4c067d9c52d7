// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/io/tokenizer/token_id.h"

namespace riesz {

/// How a token is chosen from logits. The steps have this order, as in Hugging Face's generate.
struct SamplingOptions {
  double repetition_penalty = 1;  ///< logits of tokens that stand in the text: l/p where l > 0, else l·p
  double temperature = 0;         ///< logits are divided by it; 0: the likeliest token, whatever follows
  std::int64_t top_k = 0;         ///< keeps this many of the likeliest; 0: all
  double top_p = 1;  ///< of these, keeps the fewest likeliest with this probability together, at least one
};

/// @throws Error naming the option that is out of its range: a penalty above 0, a temperature and a top_k of
/// 0 or more, a top_p above 0 and at most 1.
void check_sampling(const SamplingOptions& options);

/// The probabilities of the tokens that are left, by id.
struct TokenProbability {
  TokenId id;
  double probability;
};

/// The tokens that may be chosen, in the order of their ids, with their probabilities, which add up to 1.
/// Among equal logits the lower id counts as the likelier. `logits`: `vocabulary` of them; `text`: the tokens
/// so far. Cost: O(V), and O(n log V) for the n that top_p leaves. Pure. @throws Error where a logit is NaN
/// or +∞, or all are −∞. (A token with −∞ is never chosen.)
std::vector<TokenProbability> token_probabilities(const float* logits, std::size_t vocabulary,
                                                  const std::vector<TokenId>& text,
                                                  const SamplingOptions& options);

/// Chooses the token whose part of [0, 1), laid out by id, contains `draw`, a uniform number. Pure. @throws
/// Error likewise.
TokenId choose_token(const float* logits, std::size_t vocabulary, const std::vector<TokenId>& text,
                     const SamplingOptions& options, double draw);

}  // namespace riesz
