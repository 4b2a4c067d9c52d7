// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz::detail {

/// Counts of what this process has made to describe a computation: texts, such as labels, paths and spaces in
/// words; spaces; and partitions. A program makes them once, with its plans. A training step that was made
/// before makes none, which a test compares. Safe to use from several threads.
struct Made {
  std::uint64_t texts = 0;
  std::uint64_t spaces = 0;
  std::uint64_t partitions = 0;

  bool operator==(const Made&) const = default;
};

/// The counts so far.
Made made();

void count_text();
void count_space();
void count_partition();

}  // namespace riesz::detail
