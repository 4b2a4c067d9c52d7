// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <vector>

#include "riesz/io/file.h"
#include "riesz/partition/interval.h"

namespace riesz {

/// Reads intervals of a file's bytes into memory, one behind the other. Neighbours in ascending order that
/// are a page apart or less are read by one call, up to a megabyte at once. `out` must have room for all that
/// is added.
/// @throws Error as `File::read`.
class ByteSpans {
 public:
  ByteSpans(const File& file, std::byte* out) : file_(file), out_(out) {}

  /// Adds bytes, which are in memory after the next `flush`.
  void add(const Interval& bytes);
  void flush();

 private:
  const File& file_;
  std::byte* out_;
  Intervals pieces_;
  std::vector<std::byte> buffer_;
};

}  // namespace riesz
