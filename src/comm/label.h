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

/// A number that differs, but for one case in 2^64, wherever anything differs that was mixed in, or its
/// order. Alike in all processes of a job.
class Digest {
 public:
  Digest& mix(std::uint64_t number);
  Digest& mix(std::string_view text);
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9E3779B97F4A7C15ULL;
};

/// What the workers at the two ends of a message compare, once it has found its receive by its number: the
/// digest of the operator that it belongs to, its spaces and its direction. The text names it to people.
class Label {
 public:
  static constexpr std::size_t kMost = 240;  ///< bytes of a text; what is longer is cut

  Label(std::string_view text, Digest digest);

  const std::string& text() const { return text_; }
  std::uint64_t digest() const { return digest_; }

 private:
  std::string text_;
  std::uint64_t digest_;
};

/// Of nothing in particular: like any other of its kind. Messages between transports' own ends have it.
const std::shared_ptr<const Label>& no_label();

/// What one end of a message says of it.
struct Declared {
  std::string_view text;
  std::uint64_t digest;
  std::int64_t bytes;
  at::ScalarType type;

  /// The text is not compared: where it differs, the digest does.
  bool matches(const Declared& other) const {
    return digest == other.digest && bytes == other.bytes && type == other.type;
  }
};

/// Throws Error that names what `peer` has sent and what this worker expects.
[[noreturn]] void throw_difference(int peer, const Declared& sent, const Declared& expected);

}  // namespace riesz
