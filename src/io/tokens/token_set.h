// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

class PartFiles;

/// A folder of tokens that `riesz tokenize` has made, as one long row of tokens. They are read when they are
/// used, from the system's page cache, which all processes of a host share. Local.
class TokenSet {
 public:
  /// Reads tokens.json. @throws Error naming the folder where it is missing or not finished. Also naming a
  /// field that riesz tokenize does not write so, or a file that is missing or has another size.
  explicit TokenSet(const std::filesystem::path& folder);

  std::int64_t tokens() const { return first_token_.back(); }
  std::int64_t documents() const { return first_document_.back(); }
  /// How many tokens the tokenizer has, and the one that ends documents.
  std::int64_t vocabulary() const { return vocabulary_; }
  std::optional<std::int64_t> end() const { return end_; }
  /// The digest of the tokenizer's files.
  std::uint64_t tokenizer() const { return tokenizer_; }
  /// A digest of all tokens and ends, by what tokens.json says of them.
  std::uint64_t digest() const { return digest_; }
  const std::filesystem::path& folder() const { return folder_; }

  /// Reads count tokens from `begin` on. @pre they are there. @throws Error naming a part's file that cannot
  /// be read, or was cut off or replaced since.
  void read(std::int64_t begin, std::int64_t count, std::int64_t* to) const;
  /// Where a document lies.
  Interval document(std::int64_t number) const;
  /// The first document that begins at this token or later; documents() if there is none.
  std::int64_t document_from(std::int64_t token) const;

  std::size_t parts() const { return parts_.size(); }
  /// Reads all of a part. @throws Error naming its file if it has changed since it was made.
  void check_part(std::size_t number) const;

 private:
  struct Part {
    std::string name;
    std::size_t tokens;  ///< its file's number
    std::size_t ends;
    std::uint64_t digest_of_tokens;
    std::uint64_t digest_of_ends;
  };
  /// How many tokens of its part lie before a document's end.
  std::int64_t end_of(std::size_t part, std::int64_t document) const;

  /// The ends that were read last: documents are asked for in their order.
  struct Ends {
    std::size_t part = 0;
    std::int64_t first = 0;
    std::vector<std::uint64_t> all;
  };

  std::filesystem::path folder_;
  std::shared_ptr<PartFiles> files_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> first_token_{0};  // of each part, and of what would follow
  std::vector<std::int64_t> first_document_{0};
  std::int64_t vocabulary_ = 0;
  std::optional<std::int64_t> end_;
  std::int64_t width_ = 4;  // bytes of a token
  std::uint64_t tokenizer_ = 0;
  std::uint64_t digest_ = 0;
  mutable Ends ends_;
  mutable std::mutex mutex_;  // of ends_
};

/// The tokens to train on, and those held out. Held out are the last ones, about this part of all, from the
/// beginning of a document on if one begins there. @throws Error unless 0 ≤ part < 1.
std::pair<Interval, Interval> split_off(const TokenSet& set, double part);

}  // namespace riesz
