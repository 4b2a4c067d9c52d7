// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/late_checks.h"

#include <deque>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/simulation.h"

namespace riesz {
namespace {

/// A check that was put off, or what it has thrown.
class LateCheck {
 public:
  LateCheck(LateValue value, HostCheck check)
      : value_(std::move(value)), check_(std::move(check)), origin_(LayerScope::current()) {}

  bool ready() const { return value_.ready(); }

  /// Returns whether it is good.
  bool judge() {
    if (!check_) return thrown_ == nullptr;
    try {
      std::exchange(check_, nullptr)(value_.wait());
    } catch (...) {
      thrown_ = std::current_exception();
    }
    return thrown_ == nullptr;
  }

  /// As if by the layer that asked for the check.
  void rethrow() const {
    const LayerScope layer(origin_);
    std::rethrow_exception(thrown_);
  }

 private:
  LateValue value_;
  HostCheck check_;
  std::shared_ptr<const Origin> origin_;
  std::exception_ptr thrown_;
};

/// Those of all threads, in the order in which they were put off.
struct LateChecks {
  std::mutex mutex;
  std::deque<LateCheck> waiting;
  std::uint64_t settled = 0;  // and dropped; those that wait are the next ones
};

/// Never destroyed: devices may be gone by then.
LateChecks& late_checks() {
  static LateChecks& all = *new LateChecks;
  return all;
}

void drop_first(LateChecks& all) {
  all.waiting.pop_front();
  ++all.settled;
}

/// Those at the front that are known to be good, so that a program that never settles keeps few. What is
/// thrown, and where, does not depend on it.
void drop_good(LateChecks& all) {
  while (!all.waiting.empty() && all.waiting.front().ready() && all.waiting.front().judge()) drop_first(all);
}

}  // namespace

void check_later(LateValue value, HostCheck check) {
  if (value.of_host()) return check(value.wait());
  LateChecks& all = late_checks();
  const std::lock_guard lock(all.mutex);
  drop_good(all);
  all.waiting.emplace_back(std::move(value), std::move(check));
}

std::uint64_t late_checks_so_far() {
  LateChecks& all = late_checks();
  const std::lock_guard lock(all.mutex);
  return all.settled + all.waiting.size();
}

void settle_late_checks() { settle_late_checks(std::numeric_limits<std::uint64_t>::max()); }

void settle_late_checks(std::uint64_t first) {
  if (Simulation::running()) return;
  LateChecks& all = late_checks();
  const std::lock_guard lock(all.mutex);
  while (!all.waiting.empty() && all.settled < first) {
    if (all.waiting.front().judge()) {
      drop_first(all);
      continue;
    }
    const LateCheck bad = std::move(all.waiting.front());
    while (!all.waiting.empty() && all.settled < first) drop_first(all);
    bad.rethrow();
  }
}

}  // namespace riesz
