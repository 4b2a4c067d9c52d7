// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace riesz {

/// Where in a text something stands: bytes [begin, end).
struct TextExtent {
  std::size_t begin;
  std::size_t end;

  bool operator==(const TextExtent&) const = default;
};

/// A regular expression over Unicode text, in the syntax of tokenizer.json (Oniguruma's): it is translated by
/// `to_pcre2` and compiled by PCRE2. Not for two threads at once.
class Pattern {
 public:
  /// @throws Error quoting the expression, with the place and the reason, where it cannot be compiled or has
  /// another meaning in PCRE2.
  explicit Pattern(const std::string& expression);

  /// The first match that begins at `from` or later; it may be empty. @pre text is UTF-8
  /// @throws Error where matching takes more memory or steps than PCRE2 allows.
  std::optional<TextExtent> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

/// The expression as PCRE2 takes it, meaning what it means to Oniguruma: `\s` is Unicode's White_Space, `\d`
/// its decimal digits, `\w` what is alphabetic, a mark, a digit or a connector. Patterns without such a
/// translation are refused: other escapes, sets within sets, flags but i, a possessive {n,m}+.
/// @throws Error quoting the expression, the place and what is not supported.
std::string to_pcre2(std::string_view expression);

}  // namespace riesz
