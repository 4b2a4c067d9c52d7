// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/team.h"

namespace riesz {

/// Where layers use a parameter, and where it lies among the elements of its bucket.
struct Leaf {
  at::Tensor value;
  std::int64_t begin;
};

/// The gradients of a bucket: those that come at the leaves, and their sum over the team, of which a worker
/// has its piece, or all where values live always.
///
///                   reduce               finish
///     collecting ───────────▶ reducing ───────────▶ reduced     clear: to reduced, all zero
///          ▲                    │    ▲ reduce          │
///          │                    └────┘                 │        drop: of another step
///          └─────────────────── again ─────────────────┘
class Gradients {
 public:
  enum class State {
    collecting,  ///< what comes is added
    reducing,    ///< some of what came is on its way into the sum, or all
    reduced,     ///< the sum may be read and changed
  };

  /// The gradients of these leaves; zero at first. Collective over the team where they live a step.
  Gradients(const Team& team, Lifetimes live, std::vector<Leaf> leaves, const at::TensorOptions& options,
            const std::shared_ptr<TeamMemory>& memory);

  State state() const { return state_; }
  /// Elements that wait, where they live a micro-batch: for their turn, for room, and for other workers.
  std::int64_t waiting() const;
  /// The sum of what this worker trains.
  const at::Tensor& sum() const { return sum_; }
  /// This worker's own gradients of all elements, unreduced; undefined where they live a micro-batch.
  at::Tensor own() const { return own_ ? own_->local() : at::Tensor(); }

  /// Takes from the leaves what a pass has brought so far, before another pass brings more: the next `take`
  /// of this pass adds it. Without a pass (what a lent weight brings back), the next `take` of any pass does.
  /// Nothing is added in a half type.
  void set_aside(std::optional<std::uint64_t> pass = {});
  /// Takes what a pass has brought from the leaves: adds it to this worker's own, where these live a step,
  /// else it waits for its turn.
  void take(std::optional<std::uint64_t> pass = {});
  /// Those that have not come are zero.
  void fill();
  /// Begins to sum what came, by `reduction`; where they live a micro-batch what was taken first and not
  /// reduced yet, or `all` that is left, and another call adds to the sum. False if no buffer is free yet,
  /// unless it may wait for one: then it goes on at the next call. All of the team do so in one order.
  bool reduce(const Operation& reduction, bool all, bool wait);
  /// Waits for what is on its way: the sum may be read.
  void settle() { settled(true); }
  /// The same, and nothing more will come.
  void finish();
  /// A step begins.
  void again();
  /// Gradients that came belong to no step.
  void drop();
  /// None came.
  void clear();
  /// The gradient of leaf k so far, where gradients live a step: a copy of what came on this worker, which
  /// stays as it is.
  at::Tensor so_far(std::size_t k) const;
  /// Is one at this leaf, which came after the step's were reduced?
  bool late(std::size_t k) const { return leaves_[k].value.grad().defined(); }

 private:
  bool in_passing() const { return live_.gradients == Lifetimes::Gradients::a_micro_batch; }
  bool sharded() const { return live_.values != Lifetimes::Values::always; }
  bool pass(const Operation& reduction, bool all, bool wait);
  void take_turn(bool all);
  void add(at::Tensor& sum, at::Tensor more) const;
  bool settled(bool wait);
  std::int64_t per_worker() const;
  std::int64_t segments() const;
  void fill_segment(const PieceOffsets& pieces, std::int64_t from, const at::Tensor& flat);
  void copy_part(std::int64_t begin, std::int64_t end, const at::Tensor& out) const;

  Team team_;
  Lifetimes live_;
  std::vector<Leaf> leaves_;
  std::shared_ptr<TeamMemory> memory_;
  std::unique_ptr<TeamBuffer> own_;
  at::Tensor sum_;
  State state_ = State::collecting;
  std::vector<bool> came_;                                  // in this step, into own_
  std::map<std::uint64_t, std::vector<at::Tensor>> aside_;  // by leaf, of passes that put some off
  std::deque<std::vector<at::Tensor>> waiting_;             // by leaf, of each pass
  std::vector<at::Tensor> unreduced_;                       // of those, whose turn it is
  std::int64_t segment_ = 0;                                // the next to pass
  bool any_ = false;                                        // in sum_
  std::vector<std::shared_ptr<TeamCollective>> collectives_;
};

}  // namespace riesz
