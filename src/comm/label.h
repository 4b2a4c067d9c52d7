// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace riesz {

/// A digest builder: a 64-bit hash of numbers and texts, made step by step. `mix` adds one of them; `value`
/// depends on all of them and on their order. It is the same in all processes of a job.
class DigestBuilder {
 public:
  DigestBuilder& mix(std::uint64_t number);
  DigestBuilder& mix(std::string_view text);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9E3779B97F4A7C15ULL;
};

/// A label: a text that names the operator of a message, and a digest of that operator, its spaces and its
/// direction. Both ends compare the digest after the message has been matched. The text is for people.
class Label {
 public:
  static constexpr std::size_t kMostTextBytes = 240;  ///< bytes of a text; what is longer is cut

  Label(std::string_view text, DigestBuilder digest);

  const std::string& text() const { return text_; }
  std::uint64_t digest() const { return digest_; }

 private:
  std::string text_;
  std::uint64_t digest_;
};

/// The empty label, of messages that belong to no operator.
const std::shared_ptr<const Label>& no_label();

/// A message's signature: label, size and type, as one end of it states them.
struct Signature {
  std::string_view text;
  std::uint64_t digest;
  std::int64_t bytes;
  at::ScalarType type;

  /// Compares all but the text: if the text differs, so does the digest.
  bool matches(const Signature& other) const {
    return digest == other.digest && bytes == other.bytes && type == other.type;
  }
};

/// Throws an Error that says what `peer` has sent and what this worker expects.
[[noreturn]] void throw_mismatch(int peer, const Signature& sent, const Signature& expected);

}  // namespace riesz
