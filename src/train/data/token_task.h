// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"
#include "riesz/io/tokens/mixture.h"
#include "riesz/io/tokens/seeded_permutation.h"
#include "riesz/io/tokens/sequences.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// The task of predicting the next token, in folders that `riesz tokenize` made: data.tokens = "A", or
/// "A=3,B=1", where three in four sequences are from A. A step takes the next sequences of the `Mixture`. The
/// last documents of each folder are held out.
class TokenTask final : public Task {
 public:
  /// Each worker of the job reads its share of the parts once. @throws Error naming a file that is cut off or
  /// has changed. Also where folders have different tokenizers, or too little to train on or to hold out.
  explicit TokenTask(const Config& config);

  std::int64_t vocabulary() const override { return vocabulary_; }
  DataUnit unit() const override { return {.each = length_}; }
  Batch batch(std::int64_t first, std::int64_t sequences) const override;
  std::int64_t held_out() const override { return held_out_order_->size(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }
  /// The held-out loss as perplexity and in bits per token, and what the model writes after the first
  /// held-out tokens.
  std::vector<std::string> report(const Predict& model, double held_out_loss) const override;

 private:
  void add(const std::string& folder, const Config& config);

  std::int64_t length_;
  std::uint64_t seed_;
  std::int64_t sample_;
  double temperature_;
  std::int64_t vocabulary_ = 0;
  std::uint64_t digest_ = 0;
  std::vector<std::string> folders_;
  std::vector<std::shared_ptr<const TokenSet>> sets_;
  std::vector<Sequences> trained_, held_out_;  // of each folder
  std::vector<double> weights_;
  std::optional<Mixture> mixture_;
  std::optional<SeededPermutation> held_out_order_;
  std::optional<Tokenizer> tokenizer_;
};

/// The folders that data.tokens names. @throws Error where it names none, or a share is no number above 0.
std::vector<std::string> folders_of_tokens(const Config& config);

/// The number of tokens of data.tokens' tokenizer. @throws Error where there are none.
std::int64_t vocabulary_of_tokens(const Config& config);

}  // namespace riesz
