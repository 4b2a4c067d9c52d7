// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/train/config/config.h"
#include "riesz/train/data/token_source.h"

namespace riesz {

/// Windows of data.text, a file or a folder's texts (`read_bytes`), whose last part is held out; each byte
/// is the token of its value (`byte_tokenizer`). A window of training begins at a random place, drawn by
/// (seed, its number). The held-out windows are fixed and do not overlap; their order is drawn too, so that
/// the first few stand for all.
class ByteSource final : public TokenSource {
 public:
  /// @throws Error naming the sizes if either part is shorter than a window.
  explicit ByteSource(const Config& config);

  void read(std::int64_t number, std::int64_t* inputs, std::int64_t* targets) const override;
  std::int64_t held_out() const override { return static_cast<std::int64_t>(order_.size()); }
  void read_held_out(std::int64_t place, std::int64_t* inputs, std::int64_t* targets) const override;
  std::vector<TokenId> first_held_out(std::int64_t count) const override;
  std::int64_t vocabulary() const override { return 256; }
  const char* token() const override { return "byte"; }
  Tokenizer tokenizer() const override;
  std::string describe() const override;
  std::uint64_t digest() const override;

 private:
  void window(std::int64_t start, std::int64_t* inputs, std::int64_t* targets) const;

  std::string bytes_;
  std::int64_t length_;
  std::int64_t trained_;  ///< bytes to train on
  std::uint64_t seed_;
  std::string origin_;
  std::vector<std::int64_t> order_;
};

}  // namespace riesz
