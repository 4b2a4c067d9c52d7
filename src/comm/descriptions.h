// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz::detail {

/// Counts of texts, spaces and partitions made by this process. Texts are such as labels, paths and spaces in
/// words. A step that repeats an earlier one makes none; a test checks it. Safe to use from several threads.
struct Descriptions {
  std::uint64_t texts = 0;
  std::uint64_t spaces = 0;
  std::uint64_t partitions = 0;

  bool operator==(const Descriptions&) const = default;
};

/// The counts so far.
Descriptions descriptions_made();

void count_text();
void count_space();
void count_partition();

}  // namespace riesz::detail
