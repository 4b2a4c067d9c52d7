// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A sample of a trained model's text, for the report of a training.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/token_id.h"
#include "riesz/train/data/task.h"

namespace riesz {

struct SampleOptions {
  std::int64_t tokens = 0;      ///< how many are written
  std::int64_t vocabulary = 0;  ///< of these: a model may have more rows than there are tokens
  std::int64_t length = 0;      ///< how many of the last ones the model reads
  double temperature = 0;       ///< as in `SamplingOptions`
  std::uint64_t seed = 0;       ///< of the draws
};

/// The tokens that the model writes after those of `prompt`. Collective as `model`. Cost: a call of the model
/// for each token, without caches.
std::vector<TokenId> sample(const Predict& model, std::vector<TokenId> prompt, const SampleOptions& options);

/// The lines of a text, each behind "  | ".
std::vector<std::string> quoted_lines(const std::string& text);

}  // namespace riesz
