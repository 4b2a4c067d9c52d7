// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "riesz/generation/text_model.h"
#include "riesz/io/tokenizer/token_id.h"

namespace riesz {

struct EvaluateOptions {
  std::int64_t window = 0;   ///< tokens of a sequence; 0: the context, at most 1,024
  std::int64_t stride = 0;   ///< from one window's beginning to the next one's; 0: half a window
  std::int64_t at_once = 4;  ///< windows in one call of the model
};

/// The loss of a text under a model.
struct Evaluated {
  double loss = 0;           ///< the mean of −log p(token | those before it in its window), in nats
  std::int64_t scored = 0;   ///< over so many tokens: all but the first
  std::int64_t windows = 0;  ///< of so many
  double seconds = 0;
  /// If `loss` is not finite: the tokens [first, end), counted from 0, scored by the first call of the model
  /// whose loss is not finite. Else nothing.
  std::optional<std::pair<std::int64_t, std::int64_t>> not_finite;
};

/// A window of a text. The model reads tokens [begin, begin + length); the logits of [scored, begin + length)
/// are scored, each by the token behind it.
struct TextWindow {
  std::int64_t begin;
  std::int64_t length;
  std::int64_t scored;

  bool operator==(const TextWindow&) const = default;
};

/// The windows of a text with this number of tokens. All have one length; each begins `stride` after the one
/// before, and the last ends with the text. Every token but the first is scored once; behind the first
/// window, with at least window − stride + 1 tokens before it. Pure. @pre tokens ≥ 2 and 1 ≤ stride ≤ window
std::vector<TextWindow> text_windows(std::int64_t tokens, std::int64_t window, std::int64_t stride);

/// Computes the mean loss of a text's tokens, window by window. It is the same at every layout up to
/// rounding. Collective over the model's workers. Records no gradients. Cost: that of the model for each
/// window. Each call of the model also sends an element to all workers.
/// @throws Error where the text has fewer than two tokens, or one outside the vocabulary. Also where window
/// and stride do not fit the context.
Evaluated evaluate_text(const TextModel& model, const std::vector<TokenId>& text,
                        const EvaluateOptions& options = {});

}  // namespace riesz
