// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/intervals/segments.h"
#include "riesz/partition/space.h"

namespace riesz {

/// A route: the boxes that go from one worker to another, or stay with it. They are in this worker's local
/// indices, in an order that both ends know. `rank` is the other's in its own space's partition.
struct Route {
  int rank;
  std::vector<Box> parts;
  std::int64_t elements;
};

/// Routes: say who sends what to whom when a vector goes from X to Y, with any boxes on any two partitions:
///
///     y_r = Σ x_s | sent_s ∩ needed_r   over s ∈ senders(r), in rank order
///
/// On an axis of X's grid the senders of r are: where X is Sharded, those who hold what r needs; where it is
/// Partial, all, for the terms are added; where it is Copied, the first; where it is Replicated, r itself if
/// it has the vector, else the first. On an axis of Y's grid those who need are: where Y is Sharded,
/// Replicated or Copied, all; where it is Partial, the first, so that the terms sum to the vector. Where
/// splits overlap, a copy comes from the first holder, and a term goes to the first; but where the axis
/// shards at both ends, a copy that the receiver holds is its own, and a term that the sender holds stays
/// (unless copies turn into terms: then first to first). On
/// an axis that both grids have, placed alike and not Sharded (or, within one partition, not among those that
/// move), a worker exchanges with those at its own coordinate only. So the routes of Y* → X* are those of X →
/// Y turned round, but for Replicated axes, where they reach all replicas.
class Routes {
 public:
  /// `axes`: those that move, where X and Y are on one partition.
  Routes(const Space& X, const Space& Y, const std::vector<int>& axes);

  /// What the worker of `rank` of Y's partition receives, by sender's rank; and what one of X's sends, by
  /// receiver's. Found from boxes, in time that does not grow with the number of workers that have nothing to
  /// do with it.
  std::vector<Route> incoming(int rank) const;
  std::vector<Route> outgoing(int rank) const;

  /// True if terms are added; else each element comes from one worker.
  bool adds() const { return adds_; }

 private:
  std::vector<CommonBox> boxes(int sender, int receiver) const;
  bool receives(int rank) const;
  bool sends_to(int sender, int receiver) const;

  Space X_;
  Space Y_;
  std::vector<int> same_in_Y_;  // by axis of X's grid: the axis of Y's at whose coordinate it stays, or −1
  std::vector<int> same_in_X_;  // by axis of Y's grid
  bool adds_ = false;
};

}  // namespace riesz
