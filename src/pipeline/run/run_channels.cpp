// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/run_channels.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "riesz/comm/channel.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"

namespace riesz {
namespace {

constexpr std::int64_t kMost = 1 << 12;

/// Channel 0 is the rest of the program's.
std::atomic<int>& first_free() {
  static std::atomic<int> channel = 1;
  return channel;
}

}  // namespace

RunChannels::RunChannels(std::int64_t micro_batches)
    : first_(first_free()),
      micro_batches_(static_cast<int>(std::clamp<std::int64_t>(micro_batches, 1, kMost))),
      exceptions_(std::uncaught_exceptions()) {
  RIESZ_CHECK(
      first_ + 2 * micro_batches_ <= kChannels, "Pipeline: ", first_ / 2,
      " micro-batches were in runs that exceptions have left, whose channels of messages are used up; ",
      "begin the program again");
}

RunChannels::~RunChannels() {
  if (std::uncaught_exceptions() == exceptions_) return;
  const int end = first_ + 2 * micro_batches_;
  first_free() = end;
  abandon_background(first_, end);
}

int RunChannels::of(std::int64_t micro_batch) const {
  return first_ + 2 * static_cast<int>(micro_batch % micro_batches_);
}

}  // namespace riesz
