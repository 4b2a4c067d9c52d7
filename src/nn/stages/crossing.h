// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

class Stages;

/// Decides what happens where a module of a stage is entered, while it lives, on the thread that made it.
/// They nest. Without one, vectors come by the natural map, at once: naive model parallelism.
///
/// A module that spans stages enters none: its own code is between the stages of its parts. One that is
/// called inside a module of the same stage enters nothing either.
class Crossing {
 public:
  Crossing();
  virtual ~Crossing();
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;

  /// This thread's innermost, or nullptr.
  static Crossing* current();

  /// A module of stage `stage`, which lies on `home`, is entered with these vectors among its arguments, in
  /// their order. Each is to be replaced by what the module reads, a vector of its target. A vector that lies
  /// in its target already may stay as it is. Called once an entry, also without vectors, on every worker,
  /// before the module's `forward`, in its layer scope.
  virtual void enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
                     const std::vector<Space>& targets) = 0;

 private:
  Crossing* outer_;
};

/// The default: each vector is brought to its target by the natural map. Collective over the partitions of
/// both.
void bring(const std::vector<Vector*>& arguments, const std::vector<Space>& targets);

namespace detail {

/// While it lives, this thread is in a stage of a placed model, or in none of it (−1); scopes nest.
class StageScope {
 public:
  StageScope(const Stages* stages, int stage);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

  /// How many such scopes this thread has opened.
  static std::uint64_t entered();
  /// Is this thread in this stage of this model?
  static bool in(const Stages* stages, int stage);

 private:
  const Stages* outer_;
  int outer_stage_;
};

}  // namespace detail
}  // namespace riesz
