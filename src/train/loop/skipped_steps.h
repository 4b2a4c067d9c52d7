// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/train/report/history.h"

namespace riesz {

/// Warns that an fp16 training skips too many steps; a step is skipped where a gradient is not finite. A few
/// skips at the beginning are normal: they find the loss's scale. So it warns after 10 in a row, and again
/// whenever these have doubled. At the end it warns if more than half of all steps were skipped.
class SkippedSteps {
 public:
  /// The text to print after a step; "" for none.
  std::string after(const Row& row);
  /// The text to print at the end, about all steps.
  std::string at_end() const;

 private:
  std::int64_t steps_ = 0;
  std::int64_t skipped_ = 0;
  std::int64_t in_a_row_ = 0;
  std::int64_t next_ = 0;  // number in a row of the next warning
};

}  // namespace riesz
