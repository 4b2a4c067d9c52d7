// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "riesz/zero/bucket.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/units.h"
#include "riesz/zero/visits.h"

namespace riesz {

/// The reductions of a step, in rounds: one where gradients live a step, else one for each of its passes. A
/// round reduces each bucket once, the last bucket first, on all workers alike whatever order gradients come
/// in. Round k of a bucket takes the gradients of the k-th pass that reached it. Which pass does not matter,
/// since all are added. The last round takes all that is left, once no visit is open.
///
///            open, begin            finish
///     idle ──────────────▶ open ─────────────▶ ended         drop: back to idle
///
class Reductions {
 public:
  enum class State {
    idle,   ///< nothing was used yet
    open,   ///< gradients come
    ended,  ///< all that came are reduced
  };

  /// `most_waiting`: the elements of gradients that may wait, where something bounds them.
  Reductions(const UnitPlan& plan, const std::vector<std::unique_ptr<Bucket>>& buckets, Lifetimes live,
             std::optional<std::int64_t> most_waiting, const Visits& visits);

  State state() const { return state_; }
  /// Are gradients summed? Else they stay each worker's own.
  bool reducing() const { return reducing_; }
  void set_reducing(bool reducing) { reducing_ = reducing; }
  bool every_micro_batch() const { return live_.gradients == Lifetimes::Gradients::a_micro_batch; }

  /// A unit is used.
  void open();
  /// Pass number `i` of `of` begins. @throws Error if another number was said of this step before.
  void begin(std::int64_t i, std::int64_t of);
  std::int64_t rounds() const { return every_micro_batch() ? passes() : 1; }
  /// As `ParameterKeeper::come`.
  void come(std::uint64_t run, std::int64_t times);

  /// A unit's gradients so far are of this pass, and the rest of them is put off. @throws Error as `passed`.
  void waits(std::size_t unit, std::uint64_t pass);
  /// A pass has brought its gradients of a unit, or more of them `again`. @throws Error where all rounds have
  /// taken the unit's.
  void passed(std::size_t unit, std::uint64_t pass, bool again);
  /// A pass has ended without any of a unit: those are zero. For the step's last pass it decides nothing:
  /// then the unit's last round, and those of all before it, wait for the step's end.
  void left_out(std::size_t unit);
  /// A gradient that belongs to no pass is to come for a unit, such as what a lent weight brings back. The
  /// unit's last round waits for one `left`, which says that it is at the leaf, for each `expect`. A gradient
  /// that is left after that round has begun stays at the leaf, and `finish` throws.
  void expect(std::size_t unit);
  void left(std::size_t unit);
  bool some_left() const { return left_ > 0; }
  /// Begins what may begin without waiting.
  void go_on();

  /// Rounds for which something has come on this worker.
  std::int64_t rounds_come() const;
  /// Ends so many rounds, and reduces what was left since; what has not come is zero. The step stays open.
  /// Collective.
  void settle(std::int64_t rounds);
  /// Ends all. Where nothing was used, all are zero. Collective. @throws Error naming a gradient that came
  /// too late.
  void finish();
  /// The step is over, or given up.
  void drop();

  /// Before a step: @throws Error if `begin` was called for some passes, but not for each, or a chain lives
  /// that was not gone back through. It says how many passes were promised and how many came.
  void check_all_came() const;

 private:
  std::int64_t passes() const { return std::max(of_, of_runs_); }
  bool taken(std::size_t unit, std::size_t bucket) const;
  void check_not_taken(std::size_t unit) const;
  bool more_comes(std::size_t unit) const { return expected_[unit] > 0 || visits_.open(unit); }
  void went_on(std::size_t unit);
  bool ready(std::int64_t turn) const;
  void advance(bool wait, std::int64_t until);
  bool reduce(std::size_t bucket, bool all, bool wait);
  bool too_many_wait() const;
  std::int64_t turns() const { return rounds() * static_cast<std::int64_t>(buckets_.size()); }
  std::int64_t turn(std::int64_t round, std::size_t bucket) const;
  void end();

  const UnitPlan& plan_;
  const std::vector<std::unique_ptr<Bucket>>& buckets_;
  Lifetimes live_;
  std::optional<std::int64_t> most_waiting_;
  const Visits& visits_;
  State state_ = State::idle;
  bool reducing_ = true;
  std::int64_t of_ = 1;               // passes of the step, as `begin` says
  std::int64_t of_runs_ = 0;          // as the pipelines' runs so far say
  std::set<std::int64_t> begun_;      // of which `begin` was said
  std::uint64_t run_ = 0;             // the last of them
  std::vector<std::size_t> unit_of_;  // by bucket
  std::vector<std::int64_t> passes_;  // that have brought their gradients, by unit
  std::vector<int> expected_;         // gradients of no pass that are still to come, by unit
  std::vector<bool> complete_;        // units of which all have
  std::int64_t left_ = 0;             // how many times something was, in this step
  std::int64_t settled_ = 0;          // of those
  std::int64_t forced_ = 0;           // rounds for which no more will come
  std::int64_t next_ = 0;             // turn: of the rounds' buckets, one after the other
};

}  // namespace riesz
