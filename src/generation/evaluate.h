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

/// What a model's logits say of a text.
struct Evaluated {
  double loss = 0;           ///< the mean of −log p(token | those before it in its window), in nats
  std::int64_t scored = 0;   ///< over so many tokens: all but the first
  std::int64_t windows = 0;  ///< of so many
  double seconds = 0;
  /// The tokens that the first call of the model scored whose loss is not finite, counted from 0, as
  /// [first, end); none where all are. `loss` is not finite then.
  std::optional<std::pair<std::int64_t, std::int64_t>> not_finite;
};

/// The model reads tokens [begin, begin + length). The logits of [scored, begin + length) are scored, each by
/// the token behind it.
struct TextWindow {
  std::int64_t begin;
  std::int64_t length;
  std::int64_t scored;

  bool operator==(const TextWindow&) const = default;
};

/// The windows of a text of so many tokens: all of one length, each `stride` after the one before, the last
/// one where the text ends. Every token but the first is scored once, and behind the first window with at
/// least window − stride + 1 tokens before it. Pure. @pre tokens ≥ 2 and 1 ≤ stride ≤ window
std::vector<TextWindow> text_windows(std::int64_t tokens, std::int64_t window, std::int64_t stride);

/// The mean loss of a text's tokens, window by window. The same at every layout, as far as rounding goes.
/// Collective over the model's workers. Records no gradients. Cost: that of the model, once for each window,
/// and an element to all workers for each call.
/// @throws Error where the text has fewer than two tokens, or one outside the vocabulary; where window and
/// stride do not fit the context.
Evaluated evaluate_text(const TextModel& model, const std::vector<TokenId>& text,
                        const EvaluateOptions& options = {});

}  // namespace riesz
