// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/run_streams.h"

#include <algorithm>
#include <atomic>
#include <exception>

#include "riesz/comm/error.h"
#include "riesz/comm/progress.h"
#include "riesz/comm/stream.h"

namespace riesz {
namespace {

constexpr std::int64_t kMost = 1 << 12;

/// Stream 0 is the rest of the program's.
std::atomic<int>& first_free() {
  static std::atomic<int> stream = 1;
  return stream;
}

}  // namespace

RunStreams::RunStreams(std::int64_t micro_batches)
    : first_(first_free()),
      micro_batches_(static_cast<int>(std::clamp<std::int64_t>(micro_batches, 1, kMost))),
      exceptions_(std::uncaught_exceptions()) {
  RIESZ_CHECK(
      first_ + 2 * micro_batches_ <= kStreams, "Pipeline: ", first_ / 2,
      " micro-batches were in runs that exceptions have left, whose streams of messages are used up; ",
      "begin the program again");
}

RunStreams::~RunStreams() {
  if (std::uncaught_exceptions() == exceptions_) return;
  const int end = first_ + 2 * micro_batches_;
  first_free() = end;
  give_up_background(first_, end);
}

int RunStreams::of(std::int64_t micro_batch) const {
  return first_ + 2 * static_cast<int>(micro_batch % micro_batches_);
}

}  // namespace riesz
