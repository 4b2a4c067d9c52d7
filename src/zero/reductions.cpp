// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/reductions.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"

namespace riesz {

Reductions::Reductions(const UnitPlan& plan, const std::vector<std::unique_ptr<Bucket>>& buckets,
                       Lifetimes live, std::optional<std::int64_t> most_waiting, const Visits& visits)
    : plan_(plan),
      buckets_(buckets),
      live_(live),
      most_waiting_(most_waiting),
      visits_(visits),
      unit_of_(buckets.size()),
      passes_(plan.units.size(), 0),
      expected_(plan.units.size(), 0),
      complete_(plan.units.size(), false) {
  for (std::size_t unit = 0; unit < plan.units.size(); ++unit) {
    for (const std::size_t b : plan.units[unit].buckets) unit_of_[b] = unit;
  }
}

void Reductions::open() {
  if (state_ != State::idle) return;
  for (const auto& bucket : buckets_) bucket->gradients().again();
  state_ = State::open;
}

void Reductions::begin(std::int64_t i, std::int64_t of) {
  RIESZ_CHECK(begun_.empty() || of == of_, "Zero::begin: pass ", i, " of ", of, " in a step of ", of_,
              "; say one number in all of a step's, and zero_gradients() after the step");
  open();
  begun_.insert(i);
  of_ = of;
}

void Reductions::come(std::uint64_t run, std::int64_t times) {
  if (std::exchange(run_, run) == run) return;
  open();
  of_runs_ += times;
}

/// The last bucket's is the first of a round.
std::int64_t Reductions::turn(std::int64_t round, std::size_t bucket) const {
  return (round + 1) * static_cast<std::int64_t>(buckets_.size()) - 1 - static_cast<std::int64_t>(bucket);
}

bool Reductions::ready(std::int64_t turn) const {
  const auto count = static_cast<std::int64_t>(buckets_.size());
  const std::int64_t round = turn / count;
  if (round < forced_) return true;
  const std::size_t unit = unit_of_[static_cast<std::size_t>(count - 1 - turn % count)];
  const bool last = round + 1 == rounds();
  return passes_[unit] >= (last ? passes() : round + 1) && !(last && more_comes(unit));
}

void Reductions::advance(bool wait, std::int64_t until) {
  if (!reducing_ || state_ == State::idle) return;
  const at::NoGradGuard no_gradient;
  const auto count = static_cast<std::int64_t>(buckets_.size());
  for (; next_ < until && ready(next_); ++next_) {
    const auto bucket = static_cast<std::size_t>(count - 1 - next_ % count);
    if (!reduce(bucket, next_ / count + 1 == rounds(), wait)) return;
  }
}

bool Reductions::reduce(std::size_t bucket, bool all, bool wait) {
  const LayerScope layer(buckets_[bucket]->name(), Phase::backward);
  return buckets_[bucket]->reduce(all, wait);
}

void Reductions::go_on() { advance(false, turns()); }

bool Reductions::taken(std::size_t unit, std::size_t bucket) const {
  return state_ == State::ended || complete_[unit] || next_ > turn(rounds() - 1, bucket);
}

void Reductions::check_not_taken(std::size_t unit) const {
  for (const std::size_t b : plan_.units[unit].buckets) {
    RIESZ_CHECK(!taken(unit, b), "Zero: backward comes to ", buckets_[b]->name(),
                " again, whose gradients of this step are reduced already, with those of its ", passes(),
                " passes; a step's passes are the Chains that go backward through this Zero, also several of "
                "one micro-batch: say begin(i, of) before each, of as many, and zero_gradients() after the "
                "step");
  }
}

void Reductions::waits(std::size_t unit, std::uint64_t pass) {
  open();
  check_not_taken(unit);
  for (const std::size_t b : plan_.units[unit].buckets) buckets_[b]->gradients().set_aside(pass);
}

void Reductions::passed(std::size_t unit, std::uint64_t pass, bool again) {
  open();
  check_not_taken(unit);
  for (const std::size_t b : plan_.units[unit].buckets) buckets_[b]->gradients().take(pass);
  if (!again) ++passes_[unit];
  went_on(unit);
}

void Reductions::went_on(std::size_t unit) {
  complete_[unit] = passes_[unit] >= passes() && !more_comes(unit);
  // Where values live a use, so do gradients: they do not wait for their turn.
  advance(live_.values == Lifetimes::Values::a_use, turns());
  while (too_many_wait() && next_ < turns() && ready(next_)) advance(true, next_ + 1);
}

/// Those that cannot begin yet, since gradients of this worker's own come first, are let through.
bool Reductions::too_many_wait() const {
  if (!most_waiting_) return false;
  std::int64_t elements = 0;
  for (const auto& bucket : buckets_) elements += bucket->gradients().waiting();
  return elements > *most_waiting_;
}

void Reductions::left_out(std::size_t unit) {
  if (state_ != State::open || passes_[unit] + 1 >= passes()) return;
  for (const std::size_t b : plan_.units[unit].buckets) buckets_[b]->gradients().take();
  ++passes_[unit];
}

void Reductions::expect(std::size_t unit) {
  open();
  ++expected_[unit];
}

void Reductions::left(std::size_t unit) {
  open();
  expected_[unit] = std::max(expected_[unit] - 1, 0);
  for (const std::size_t b : plan_.units[unit].buckets) {
    if (!taken(unit, b)) buckets_[b]->gradients().set_aside();
  }
  ++left_;
  went_on(unit);
}

std::int64_t Reductions::rounds_come() const {
  const auto count = static_cast<std::int64_t>(buckets_.size());
  const std::int64_t most = *std::max_element(passes_.begin(), passes_.end());
  const std::int64_t begun = (next_ + count - 1) / count;
  return std::max(begun, std::min(every_micro_batch() ? most : most / passes(), rounds()));
}

void Reductions::settle(std::int64_t rounds) {
  forced_ = std::max(forced_, rounds);
  advance(true, rounds * static_cast<std::int64_t>(buckets_.size()));
  if (std::exchange(settled_, left_) != left_) {  // what was left may be in no round
    for (std::size_t bucket = buckets_.size(); bucket-- > 0;) reduce(bucket, false, true);
  }
  for (const auto& bucket : buckets_) bucket->gradients().settle();
}

void Reductions::finish() {
  if (state_ == State::idle) {
    for (const auto& bucket : buckets_) bucket->gradients().clear();
    return;
  }
  end();
  for (const auto& bucket : buckets_) bucket->check_none_late();
}

void Reductions::check_all_came() const {
  if (state_ != State::open || begun_.empty()) return;
  RIESZ_CHECK(static_cast<std::int64_t>(begun_.size()) == of_, "Zero: a step of ", of_,
              " passes, of which begin was said for ", begun_.size(), "; say begin(i, ", of_,
              ") before the forward of each, also on workers that use nothing in it, or zero_gradients() to "
              "give the step up");
  const Visits::Passes passes = visits_.passes();
  RIESZ_CHECK(
      passes.under_way == 0 || passes.went_back >= this->passes(), "Zero: a step of ", this->passes(),
      " passes, of which ", passes.went_back, " went backward here, and ", passes.under_way,
      " did not, whose Chain is still there; call backward in it before the step, or let the Chain go");
}

void Reductions::end() {
  if (state_ == State::ended) return;
  if (reducing_) {
    forced_ = rounds();
    advance(true, turns());
  } else {
    for (const auto& bucket : buckets_) {
      bucket->gradients().take();
      bucket->gradients().fill();
    }
  }
  for (const auto& bucket : buckets_) bucket->gradients().finish();
  state_ = State::ended;
}

void Reductions::drop() {
  if (state_ != State::idle) end();  // how many have begun may differ between workers
  for (const auto& bucket : buckets_) bucket->gradients().drop();
  std::fill(passes_.begin(), passes_.end(), 0);
  std::fill(expected_.begin(), expected_.end(), 0);
  std::fill(complete_.begin(), complete_.end(), false);
  state_ = State::idle;
  begun_.clear();
  of_ = 1;
  of_runs_ = 0;
  forced_ = next_ = 0;
  left_ = settled_ = 0;
}

}  // namespace riesz
