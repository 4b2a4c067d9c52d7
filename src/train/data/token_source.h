// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/io/tokenizer/tokenizer.h"

namespace riesz {

/// The sequences that a `TokenTask` trains on, of one length, each with its targets: the tokens that follow.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  /// Writes sequence number `number` of training, counted over all epochs.
  virtual void read(std::int64_t number, std::int64_t* inputs, std::int64_t* targets) const = 0;
  virtual std::int64_t held_out() const = 0;
  /// Writes a held-out one, in the order in which they are measured.
  virtual void read_held_out(std::int64_t place, std::int64_t* inputs, std::int64_t* targets) const = 0;
  /// The first held-out tokens as they lie in the data, `count` of them, at most a sequence.
  virtual std::vector<TokenId> first_held_out(std::int64_t count) const = 0;

  virtual std::int64_t vocabulary() const = 0;
  /// The name of a token: "token", or "byte".
  virtual const char* token() const = 0;
  virtual Tokenizer tokenizer() const = 0;
  virtual std::string describe() const = 0;
  virtual std::uint64_t digest() const = 0;
};

}  // namespace riesz
