// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/train/report/history.h"

namespace riesz {

/// Says that an fp16 training learns nothing or little: a step is skipped where a gradient is not finite. A
/// few at the beginning are how the loss's scale is found. So it speaks after 10 in a row, and again whenever
/// these have doubled; and at the end where more than half of all steps were skipped.
class SkippedSteps {
 public:
  /// The text to print after a step; "" for none.
  std::string after(const Row& row);
  /// The text to print at the end, about all steps that were given.
  std::string at_end() const;

 private:
  std::int64_t steps_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t in_a_row_ = 0;
  std::int64_t next_ = 0;  // in a row, of which it speaks
};

}  // namespace riesz
