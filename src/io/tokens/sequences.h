// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/io/tokens/token_set.h"

namespace riesz {

/// How sequences of a fixed length lie in tokens: `packed`, one behind the other across documents; or
/// `one_by_one`, each within a document, whose last sequence is filled up.
enum class Packing { packed, one_by_one };

/// The sequences of an interval of a set's tokens, by number. Packed, sequence i has the tokens from i·length
/// on, and its last token is followed by the first of sequence i + 1. One by one, a document of two tokens or
/// more is cut into sequences of its own. Memory: 8 bytes for 1,024 documents.
class Sequences {
 public:
  /// @throws Error unless the tokens hold at least one sequence.
  Sequences(std::shared_ptr<const TokenSet> set, Interval tokens, std::int64_t length, Packing packing);

  std::int64_t size() const { return size_; }
  std::int64_t length() const { return length_; }
  /// Writes a sequence's `length` tokens, and for each its target, the token that follows it. Behind a
  /// document's end the tokens are 0 and the targets −1.
  void read(std::int64_t number, std::int64_t* ids, std::int64_t* targets) const;

 private:
  std::int64_t of_document(std::int64_t document) const;
  /// The tokens of a sequence, and one more to follow the last.
  Interval extent(std::int64_t number) const;

  std::shared_ptr<const TokenSet> set_;
  Interval tokens_;
  std::int64_t length_;
  std::int64_t size_ = 0;
  Interval documents_{0, 0};          // one by one: those that lie in the tokens
  std::vector<std::int64_t> before_;  // sequences before each 1,024th of them; empty: packed
};

}  // namespace riesz
