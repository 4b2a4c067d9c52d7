// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace riesz::testing {

/// An idx file of an array of bytes.
inline std::string idx_bytes(const std::vector<int>& extents, const std::string& elements) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(extents.size())};
  for (const int extent : extents) {
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(extent >> shift);
  }
  return bytes + elements;
}

}  // namespace riesz::testing
