// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/evaluate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "riesz/comm/error.h"
#include "riesz/comm/late_checks.h"
#include "riesz/generation/ids.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/stages/lent_values.h"

namespace riesz {
namespace {

EvaluateOptions filled_in(EvaluateOptions options, const TextModel& model) {
  constexpr std::int64_t kLongest = 1024;
  if (options.window == 0) options.window = std::min(kLongest, model.context);
  if (options.stride == 0) options.stride = std::max<std::int64_t>(1, options.window / 2);
  RIESZ_CHECK(options.window >= 1 && options.window <= model.context, "evaluate: a window of ",
              options.window, " tokens; it is of at least 1 and at most the model's context, ",
              model.context);
  RIESZ_CHECK(options.stride >= 1 && options.stride <= options.window, "evaluate: a stride of ",
              options.stride, " tokens; it is at least 1 and at most the window, ", options.window);
  RIESZ_CHECK(options.at_once >= 1, "evaluate: ", options.at_once, " windows at once; it is at least 1");
  return options;
}

void check_text(const TextModel& model, const std::vector<TokenId>& text) {
  RIESZ_CHECK(text.size() >= 2, "evaluate: the text has ", text.size(),
              text.size() == 1 ? " token" : " tokens", "; a token is scored by those before it, so give two");
  const auto greatest = *std::max_element(text.begin(), text.end());
  RIESZ_CHECK(greatest < model.vocabulary, "evaluate: the text has the token ", greatest,
              ", but the model's vocabulary is of ", model.vocabulary, "; the tokenizer is another model's");
}

/// Σ −log p over the scored tokens of windows [first, end).
double sum_of_losses(const TextModel& model, const std::vector<TokenId>& text,
                     const std::vector<TextWindow>& windows, std::size_t first, std::size_t end) {
  const auto B = static_cast<std::int64_t>(end - first), T = windows[first].length;
  const at::Device device = detail::device_of(model);
  const at::Tensor ids = at::empty({B, T}, at::kLong), targets = at::empty({B, T}, at::kLong);
  auto* id = ids.mutable_data_ptr<std::int64_t>();
  auto* target = targets.mutable_data_ptr<std::int64_t>();
  for (std::size_t i = first; i < end; ++i) {
    for (std::int64_t at = windows[i].begin; at < windows[i].begin + T; ++at) {
      *id++ = text[static_cast<std::size_t>(at)];
      *target++ = at < windows[i].scored ? CrossEntropyOptions{}.ignore
                                         : static_cast<std::int64_t>(text[static_cast<std::size_t>(at + 1)]);
    }
  }
  const Vector logits = model.logits(detail::send_ids(model.tokens, ids, device));
  const Loss loss = cross_entropy(logits, detail::send_ids(model.targets, targets, device));
  const auto sum = known_everywhere(model.module, loss.sum).item<double>();
  settle_late_checks();
  return sum;
}

}  // namespace

std::vector<TextWindow> text_windows(std::int64_t tokens, std::int64_t window, std::int64_t stride) {
  const std::int64_t count = tokens - 1, length = std::min(window, count);
  std::vector<TextWindow> windows;
  for (std::int64_t scored = 0; scored < count;) {
    const std::int64_t begin = windows.empty() ? 0 : std::min(windows.back().begin + stride, count - length);
    windows.push_back({begin, length, scored});
    scored = begin + length;
  }
  return windows;
}

Evaluated evaluate_text(const TextModel& model, const std::vector<TokenId>& text,
                        const EvaluateOptions& given) {
  const EvaluateOptions options = filled_in(given, model);
  check_text(model, text);
  const ContextScope evaluating({.training = false});
  const at::NoGradGuard no_gradient;
  const LentValues lent(model.module);
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<TextWindow> windows =
      text_windows(static_cast<std::int64_t>(text.size()), options.window, options.stride);
  const auto at_once = static_cast<std::size_t>(options.at_once);
  Evaluated all;
  double sum = 0;
  for (std::size_t i = 0; i < windows.size(); i += at_once) {
    const std::size_t end = std::min(windows.size(), i + at_once);
    const double part = sum_of_losses(model, text, windows, i, end);
    if (!std::isfinite(part) && !all.not_finite)
      all.not_finite = {windows[i].scored + 1, windows[end - 1].begin + windows[end - 1].length + 1};
    sum += part;
  }
  all.scored = static_cast<std::int64_t>(text.size()) - 1;
  all.loss = sum / static_cast<double>(all.scored);
  all.windows = static_cast<std::int64_t>(windows.size());
  all.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return all;
}

}  // namespace riesz
