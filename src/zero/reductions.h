// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/zero/bucket.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/units.h"

namespace riesz {

/// The reductions of a step, of all buckets in one order on all workers, the last bucket first, whatever
/// order gradients come in.
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

  Reductions(const UnitPlan& plan, const std::vector<std::unique_ptr<Bucket>>& buckets, Lifetimes live)
      : plan_(plan), buckets_(buckets), live_(live), put_off_(plan.units.size(), false) {}

  State state() const { return state_; }
  /// Are gradients summed? Else they stay each worker's own.
  bool reducing() const { return reducing_; }
  void set_reducing(bool reducing) { reducing_ = reducing; }
  bool every_micro_batch() const { return live_.gradients == Lifetimes::Gradients::a_micro_batch; }

  /// Do other micro-batches of the step follow, to whose gradients this one's are added before all are
  /// summed over the workers?
  bool collects() const { return state_ == State::open && to_come_ > 0 && !every_micro_batch(); }

  /// A unit is used.
  void open();
  /// Micro-batch number `i` of `of` begins; what backward has not reached in the last one counts as zero.
  void begin(std::int64_t i, std::int64_t of);
  /// Some of a unit's gradients come after backward.
  void put_off(std::size_t unit) { put_off_[unit] = true; }
  /// Backward has passed a unit. Where reductions have a place among others' moves in the program, it may not
  /// depend on which buffers are free: then it is to `wait` for them. @throws Error where it has passed it
  /// already.
  void passed(std::size_t unit, bool wait);
  /// Ends what is under way. Where nothing was used, all are zero. @throws Error naming a gradient that came
  /// too late.
  void finish();
  /// The step is over, or given up.
  void drop();

 private:
  /// Does this micro-batch's backward end with reductions?
  bool reduces() const { return reducing_ && (to_come_ == 0 || every_micro_batch()); }
  void reduce_ready(bool wait);
  void reduce_all();
  void end();

  const UnitPlan& plan_;
  const std::vector<std::unique_ptr<Bucket>>& buckets_;
  Lifetimes live_;
  State state_ = State::idle;
  bool reducing_ = true;
  std::int64_t to_come_ = 0;   // micro-batches of the step after this one
  std::vector<bool> put_off_;  // by unit
  std::size_t next_ = 0;       // buckets from the last one on are reduced in this order
};

}  // namespace riesz
