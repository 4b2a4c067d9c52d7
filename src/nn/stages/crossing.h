// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz {

class Stages;

/// Decides how vectors come to a module of another stage, on the thread that made it, while it lives.
/// Crossings nest. Without one, vectors come by the natural map, at once: naive model parallelism.
///
/// A call of a module that spans stages enters no stage: its own code is between the stages of its parts. A
/// call inside a module of the same stage enters nothing either.
class Crossing {
 public:
  Crossing();
  virtual ~Crossing();
  Crossing(const Crossing&) = delete;
  Crossing& operator=(const Crossing&) = delete;

  /// This thread's innermost, or nullptr.
  static Crossing* current();

  /// Called when a module of stage `stage`, which lies on `home`, is entered with these vectors among its
  /// arguments, in order. It replaces each by what the module reads, a vector of its target. A vector that
  /// lies in its target already may stay as it is. Called once an entry, also without vectors, on every
  /// worker, before the module's `forward`, in its layer scope.
  virtual void enter(int stage, const Partition& home, const std::vector<Vector*>& arguments,
                     const std::vector<Space>& targets) = 0;

 private:
  Crossing* outer_;
};

/// The default: each vector is brought to its target by the natural map. Collective over the partitions of
/// both.
void bring(const std::vector<Vector*>& arguments, const std::vector<Space>& targets);

namespace detail {

/// Marks that this thread is in a stage of a placed model, or in none of it (−1), while it lives. Scopes
/// nest.
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
