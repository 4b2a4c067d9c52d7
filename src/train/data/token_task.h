// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/train/data/task.h"
#include "riesz/train/data/token_source.h"

namespace riesz {

/// The next token: of the folders of data.tokens (`FolderSource`), or with data.task = "text" of the bytes of
/// data.text (`ByteSource`).
class TokenTask final : public Task {
 public:
  /// Collective over the job where there are folders. @throws Error as the source does.
  explicit TokenTask(const Config& config);

  std::int64_t vocabulary() const override { return source_->vocabulary(); }
  DataUnit unit() const override { return {.each = length_}; }
  Batch batch(std::int64_t first, std::int64_t sequences) const override;
  std::int64_t held_out() const override { return source_->held_out(); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override { return source_->describe(); }
  std::uint64_t digest() const override { return source_->digest(); }
  /// The held-out loss as perplexity and in bits per token, and what the model writes after the first
  /// held-out tokens.
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;

 private:
  std::int64_t length_;
  std::uint64_t seed_;
  std::int64_t sample_;
  double temperature_;
  std::unique_ptr<const TokenSource> source_;
  std::optional<Tokenizer> tokenizer_;  ///< where it writes
};

}  // namespace riesz
