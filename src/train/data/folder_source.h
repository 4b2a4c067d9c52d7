// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/io/tokens/mixture.h"
#include "riesz/io/tokens/seeded_permutation.h"
#include "riesz/io/tokens/sequences.h"
#include "riesz/train/config/config.h"
#include "riesz/train/data/token_source.h"

namespace riesz {

/// Sequences of folders that `riesz tokenize` made: data.tokens = "A", or "A=3,B=1", of which three in four
/// sequences are of A. A step takes the next sequences of the `Mixture`. The last documents of each folder
/// are held out.
class FolderSource final : public TokenSource {
 public:
  /// Each worker of the job reads its share of the parts once. @throws Error naming a file that is cut off or
  /// has changed; where folders are of different tokenizers, or have too little to train on or to hold out.
  explicit FolderSource(const Config& config);

  void read(std::int64_t number, std::int64_t* inputs, std::int64_t* targets) const override;
  std::int64_t held_out() const override { return held_out_order_->size(); }
  void read_held_out(std::int64_t place, std::int64_t* inputs, std::int64_t* targets) const override;
  std::vector<TokenId> first_held_out(std::int64_t count) const override;
  std::int64_t vocabulary() const override { return sets_[0]->vocabulary(); }
  const char* token() const override { return "token"; }
  Tokenizer tokenizer() const override;
  std::string describe() const override;
  std::uint64_t digest() const override { return digest_; }

 private:
  void add(const std::string& folder, const Config& config);

  std::int64_t length_;
  std::uint64_t seed_;
  std::uint64_t digest_ = 0;
  std::vector<std::string> folders_;
  std::vector<std::shared_ptr<const TokenSet>> sets_;
  std::vector<Sequences> trained_, held_out_;  // of each folder
  std::vector<double> weights_;
  std::optional<Mixture> mixture_;
  std::optional<SeededPermutation> held_out_order_;
};

/// The folders that data.tokens names. @throws Error where it names none, or a share is no number above 0.
std::vector<std::string> folders_of_tokens(const Config& config);

/// How many tokens the tokenizer of data.tokens has. @throws Error where there are none.
std::int64_t vocabulary_of_tokens(const Config& config);

}  // namespace riesz
