// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/io/checkpoint/save.h"
#include "riesz/partition/vector.h"

namespace riesz::testing {

/// Vectors of all types that lie in all ways on a grid of "dp" and "tp": in rows, columns, heads of a
/// published matrix, zigzag, whole, flat pieces of shards, on one slice, without elements; and two numbers.
/// Their values are functions of the element, or zero.
class Lying {
 public:
  Lying(const Partition& mesh, bool zero);

  CheckpointContents contents() const { return {state, shapes, {{"state.json", "{\"step\": 3}\n"}}}; }
  /// Every view has the values that it was not made with zero.
  void expect_filled() const;

  State state;
  Shapes shapes;

 private:
  void add(const std::string& name, const std::string& key, const Space& X, at::ScalarType type,
           const Interval& local);
  void add(const std::string& name, const std::string& key, const Space& X, at::ScalarType type);

  bool zero_;
  std::vector<at::Tensor> filled_;  // by view
  std::int64_t steps_;
  double scale_;
};

/// All grids of dp and tp of the job's workers.
std::vector<Partition> dp_tp_grids();
/// The first worker alone, as such a grid.
Partition first_alone();

}  // namespace riesz::testing
