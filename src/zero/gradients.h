// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
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
///                   passed            reduce               finish
///     collecting ──────────▶ complete ──────▶ reducing ───────────▶ reduced     clear: to reduced, all zero
///          ▲                                     │                     │
///          └─────────────────────────────────────┴──────── again ──────┘        drop: of another step
class Gradients {
 public:
  enum class State {
    collecting,  ///< what comes is added
    complete,    ///< backward has passed: no more will come
    reducing,    ///< what came is on its way into the sum
    reduced,     ///< the sum may be read and changed
  };

  /// Of these leaves; zero. Collective over the team where they live a step.
  Gradients(const Team& team, Lifetimes live, std::vector<Leaf> leaves, const at::TensorOptions& options,
            const std::shared_ptr<TeamMemory>& memory);

  State state() const { return state_; }
  /// Of what this worker trains.
  const at::Tensor& sum() const { return sum_; }
  /// Of all elements, unreduced; undefined where they live a micro-batch.
  at::Tensor own() const { return own_ ? own_->local() : at::Tensor(); }

  /// Adds those at the leaves to this worker's own, where these live a step, and takes them from there.
  void collect();
  /// Those that have not come are zero.
  void fill();
  void passed();
  /// Begins to sum what came, by `reduction`; false if no buffer is free yet, unless it may wait for one:
  /// then it goes on at the next call. All of the team do so in one order.
  bool reduce(const Operation& reduction, bool wait);
  /// Waits for that.
  void finish();
  /// Another micro-batch follows: what it brings is added.
  void again();
  /// What came is of no step.
  void drop();
  /// None came.
  void clear();
  /// Of leaf k, where they live a step: a copy of what came on this worker, which stays as it is.
  at::Tensor so_far(std::size_t k) const;
  /// Is one at this leaf, which came after the step's were reduced?
  bool late(std::size_t k) const { return leaves_[k].value.grad().defined(); }

 private:
  bool in_passing() const { return live_.gradients == Lifetimes::Gradients::a_micro_batch; }
  bool sharded() const { return live_.values != Lifetimes::Values::always; }
  bool pass(bool wait, const Operation& reduction);
  bool settled(bool wait);
  std::int64_t per_worker() const;
  std::int64_t segments() const;
  void fill_segment(const Pieces& pieces, std::int64_t from, const at::Tensor& flat);
  void copy_part(std::int64_t begin, std::int64_t end, const at::Tensor& out) const;

  Team team_;
  Lifetimes live_;
  std::vector<Leaf> leaves_;
  std::shared_ptr<TeamMemory> memory_;
  std::unique_ptr<TeamBuffer> own_;
  at::Tensor sum_;
  State state_ = State::collecting;
  std::vector<bool> came_;             // in this step, into own_
  std::vector<at::Tensor> unreduced_;  // of a micro-batch, from the leaves, until all have passed
  std::int64_t segment_ = 0;           // the next to pass
  std::int64_t micro_batches_ = 0;     // whose sum is in sum_
  std::vector<std::shared_ptr<TeamMove>> moves_;
};

}  // namespace riesz
