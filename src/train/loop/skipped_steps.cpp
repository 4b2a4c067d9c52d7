// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/skipped_steps.h"

#include "riesz/comm/error.h"

namespace riesz {
namespace {

constexpr std::int64_t kFirst = 10;
constexpr const char* kWhy =
    " were skipped, for a gradient was not finite in fp16: they changed nothing; lower "
    "optimizer.learning_rate, set optimizer.clip, or take bf16 or fp32 (precision, compute)";

}  // namespace

std::string SkippedSteps::after(const Row& row) {
  ++steps_;
  if (!row.skipped) {
    in_a_row_ = 0;
    return "";
  }
  ++skipped_;
  if (++in_a_row_ == 1) next_ = kFirst;
  if (in_a_row_ < next_) return "";
  next_ *= 2;
  return concat("all of the last ", in_a_row_, " steps, ", row.step - in_a_row_ + 1, " to ", row.step, ",",
                kWhy);
}

std::string SkippedSteps::at_end() const {
  if (2 * skipped_ <= steps_) return "";
  return concat(skipped_, " of ", steps_, " steps", kWhy);
}

}  // namespace riesz
