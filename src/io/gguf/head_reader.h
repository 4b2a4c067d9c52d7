// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "riesz/io/file.h"

namespace riesz {

/// Reads a file's head from its first byte on, number after number, little-endian, through a small buffer. A
/// read beyond the file's end, or beyond the longest head, is an Error before any memory is taken: every call
/// @throws Error naming the file, the place and the reason.
class HeadReader {
 public:
  /// At most `longest` bytes are read in all.
  HeadReader(const File& file, std::int64_t longest);

  /// Sets the name of the part being read, for messages: "metadata 3 of 7".
  void at_place(std::string place) { place_ = std::move(place); }
  [[noreturn]] void refuse(const std::string& why) const;

  template <typename T>
  T number(const char* what) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    read(&value, sizeof value, what);
    return value;
  }
  /// Reads a text: its length in eight bytes, then its bytes.
  std::string text(const char* what, std::int64_t longest = std::numeric_limits<std::int64_t>::max());
  /// Reads a count in eight bytes; things of at least `each` bytes follow.
  std::int64_t count(const char* what, std::int64_t each);

  /// How many bytes were read.
  std::int64_t position() const { return position_; }

 private:
  void read(void* to, std::int64_t bytes, const char* what);
  void need(std::uint64_t count, std::int64_t each, const char* what) const;

  const File& file_;
  std::int64_t file_bytes_;
  std::int64_t longest_;
  std::int64_t position_ = 0;
  std::string place_;
  std::vector<char> buffer_;  // the bytes of [begin_, begin_ + its size)
  std::int64_t begin_ = 0;
};

}  // namespace riesz
