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

/// Routes: the plan of who sends what to whom when a vector goes from X to Y, with any boxes on any two
/// partitions:
///
///     y_r = Σ x_s | sent_s ∩ needed_r   over s ∈ senders(r), in rank order
///
/// Each axis of X's grid limits the senders of worker r by X's placement:
///
///     Sharded     those that hold what r needs
///     Partial     all: the terms are added
///     Copied      the first
///     Replicated  r itself if it has the vector, else the first
///
/// Each axis of Y's grid limits the receivers by Y's placement:
///
///     Sharded, Replicated, Copied  all
///     Partial                      the first, so that the terms sum to the vector
///
/// Where splits overlap, a copy comes from the first holder, and a term goes to the first holder. There are
/// two exceptions (`exchanged_segments` of local_boxes.h):
///
/// (1) If X and Y are on one partition, a dim may be split in the same way in both. Then workers that hold
/// the same of it exchange all of it.
///
/// (2) If an axis with an overlapping split shards both X and Y, or if X and Y are on two partitions, less is
/// sent. A copy that the receiver already holds is not sent, and neither is a term that the sender itself
/// needs in Y. This does not apply where copies in X become terms in Y. Between two partitions it does not
/// apply to copies if Y is Replicated on an axis, nor to terms if X is.
///
/// Some axes stay: on one partition, those that are not in `axes`; between two partitions, those that both
/// grids have, placed alike and not Sharded. On them a worker exchanges only with workers at its own
/// coordinate. So the routes of Y* → X* are those of X → Y reversed, but for Replicated axes, where they
/// reach all replicas.
class Routes {
 public:
  /// `axes`: those that do not stay, where X and Y are on one partition.
  Routes(const Space& X, const Space& Y, const std::vector<int>& axes);

  /// The routes to the worker of `rank` of Y's partition, by sender's rank, and those from a worker of X's
  /// partition, by receiver's rank. Time is spent only on workers that hold some of what is sent (`holders`).
  std::vector<Route> incoming(int rank) const;
  std::vector<Route> outgoing(int rank) const;

  /// One of a sender's routes, to the worker of rank `receiver`: in the sender's local indices.
  Route sent(int sender, int receiver) const;

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
