// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/sample.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "riesz/io/tokens/sampling.h"
#include "riesz/io/draws.h"

namespace riesz {

std::vector<TokenId> sample(const Predict& model, std::vector<TokenId> prompt, const SampleOptions& options) {
  std::vector<TokenId> all = std::move(prompt);
  const auto before = static_cast<std::ptrdiff_t>(all.size());
  Draws draws(options.seed, "sample");
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const std::int64_t seen = std::min(options.length, static_cast<std::int64_t>(all.size()));
    const at::Tensor row = at::empty({1, seen}, at::kLong);
    std::copy(all.end() - seen, all.end(), row.mutable_data_ptr<std::int64_t>());
    const at::Tensor rows = model(row).select(0, 0);
    const at::Tensor logits =
        rows.narrow(0, 0, std::min(options.vocabulary, rows.numel())).to(at::kFloat).contiguous();
    all.push_back(choose_token(logits.const_data_ptr<float>(), static_cast<std::size_t>(logits.numel()), {},
                               {.temperature = options.temperature}, draws.uniform()));
  }
  return {all.begin() + before, all.end()};
}

std::vector<std::string> quoted_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    lines.push_back("  | " + text.substr(from, end - from));
    from = end + 1;
  }
  return lines;
}

}  // namespace riesz
