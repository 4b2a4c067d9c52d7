// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "riesz/app/verify/pieces.h"
#include "riesz/comm/recording/recording.h"
#include "riesz/partition/partition.h"
#include "riesz/verify/matching.h"

namespace riesz::app {

/// The workers of a job in classes: those of one class do the same, each with its own peers, so one of them
/// is run for all. On each axis of a stage's grid a class has an interval of coordinates; each stage has
/// classes of its own. At first they are the workers at 0 and all others. `refine` divides them where a
/// recorded worker says different things to two of them, so what is left together is alike to all that talk
/// to it. A class is an assumption of the workers that are not run; `difference` tests it.
class WorkerClasses {
 public:
  /// `job`: with an axis "pp" if there are stages.
  explicit WorkerClasses(Partition job);

  /// Every worker on its own.
  void divide_all();
  /// Divides the classes by what this worker, the first of its class, says to others, and by the pieces that
  /// these have. True if it did.
  bool refine(const Recording& recording, const Pieces& pieces);

  /// The first worker of a worker's class, which is run for all of them; and the last.
  int first_of(int rank) const { return corner(rank, false); }
  int last_of(int rank) const { return corner(rank, true); }
  /// All workers that are the first of their classes.
  std::vector<int> firsts() const;
  int stage_of(int rank) const { return stage_of(job_.coordinates(rank)); }
  /// How many workers a class has.
  std::int64_t size_of(int rank) const;

  /// `recordings`: of the first of each class, in any order.
  StandIns stand_ins(const std::vector<Recording>& recordings) const;

  /// How a worker's recording differs from that of the first of its class, with peers named as it names them;
  /// empty where it does not.
  std::string difference(const Recording& first, const Recording& other) const;

 private:
  /// The coordinates at which a class begins, on an axis, for the workers of a stage.
  std::set<int>& begins(int stage, int axis) { return begins_[{stage, axis}]; }
  int stage_of(const std::vector<int>& coordinates) const;
  int corner(int rank, bool last) const;
  int as_recorded(int rank, int other) const;

  Partition job_;
  int pp_;
  std::map<std::pair<int, int>, std::set<int>> begins_;
};

}  // namespace riesz::app
