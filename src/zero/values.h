// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>

#include "riesz/comm/operation.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/team.h"

namespace riesz {

/// The values of a bucket: this worker's piece of them, and all of them while they are here.
///
///              fetch            wait
///     absent ────────▶ coming ────────▶ here         release: back to absent, of those that live a use
///                                                    changed: what is here is old; fetches those that live
///                                                    a step, releases those that live a use
///
/// A gather that fails leaves them absent, so that the next one may succeed.
class Values {
 public:
  enum class State { absent, coming, here };

  /// Here, of any content. Collective over the team where they live a step. `memory` is shared by the
  /// buckets of the team.
  Values(const Team& team, Lifetimes::Values live, const at::TensorOptions& options,
         const std::shared_ptr<TeamMemory>& memory);

  State state() const { return state_; }
  /// Flat; it may be read while they are here.
  const at::Tensor& whole() const { return whole_; }
  /// Flat: what this worker trains, all of them where they live always.
  const at::Tensor& piece() const { return piece_; }

  /// Begins to bring the pieces together, unless that has begun. All of the team do so in one order.
  void fetch(const Operation& gather);
  /// Waits for those that are coming; after it nobody reads this worker's piece. @throws Error where they do
  /// not come, and then they are absent.
  void wait();
  /// Gives the memory of those that live a use back.
  void release();
  /// The pieces were trained.
  void changed(const Operation& gather);

 private:
  using Live = Lifetimes::Values;

  Team team_;
  Live live_;
  std::shared_ptr<TeamMemory> memory_;
  std::int64_t from_ = 0;               // where the piece begins among the team's
  std::unique_ptr<TeamBuffer> buffer_;  // of all of them, where they live a step
  at::Tensor whole_;
  at::Tensor piece_;
  State state_ = State::here;
  std::shared_ptr<TeamCollective> coming_;
};

}  // namespace riesz
