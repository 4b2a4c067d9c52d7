// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "riesz/optim/store.h"
#include "riesz/partition/interval.h"
#include "riesz/zero/gradients.h"
#include "riesz/zero/lifetimes.h"
#include "riesz/zero/team.h"
#include "riesz/zero/units.h"
#include "riesz/zero/values.h"

namespace riesz {

/// Parameters that lie flat, one behind the other: their values and gradients, which live as long as a stage
/// says, and where values are halves, fp32 masters of what this worker trains. In a team of one worker
/// nothing moves, and all lives as in stage 0.
class Bucket {
 public:
  Bucket(BucketPlan plan, const std::vector<Parameter>& all, int stage, std::int64_t kept_up_to);
  /// Takes the parameters' values over, of those that live a use this worker's piece alone. Collective over
  /// the team, whose buckets share `memory`.
  void take_over(const std::shared_ptr<TeamMemory>& memory);

  const std::string& name() const { return plan_.name; }
  const BucketPlan& plan() const { return plan_; }
  const Team& team() const { return team_; }
  const Lifetimes& live() const { return live_; }
  std::int64_t elements() const { return team_.elements(); }
  /// fp32 for bf16 and fp16, else the values' own type: what gradients are added in, and values are trained
  /// in.
  at::ScalarType sum_type() const;
  at::ScalarType type() const { return plan_.type; }

  /// Parameter number k of the bucket: its local part among the whole values, and the space it is used in.
  const at::Tensor& leaf(std::size_t k) const { return leaves_[k].value; }
  const Space& use_space(std::size_t k) const { return use_spaces_[k]; }

  Values& values() { return *values_; }
  const Values& values() const { return *values_; }
  void fetch() { values().fetch(operation("AllGather")); }
  /// Gives the memory of values that live a use back, and that of their copies in a compute type.
  void release();
  /// Do values that live a use stay here until the step?
  bool kept() const { return elements() <= kept_up_to_; }
  /// Writes the local part of parameter k, wherever it lies. Local; waits for values that are coming.
  void set(std::size_t k, const at::Tensor& local);
  /// @throws Error if something has written to parameter k at its leaf, where that is not what is trained:
  /// where values live a use, whatever the team, and where there are masters.
  void check_unwritten(std::size_t k) const;

  Gradients& gradients() { return *gradients_; }
  const Gradients& gradients() const { return *gradients_; }
  /// Begins to reduce what a pass brought, or all that is left, or goes on; false as long as there is no
  /// buffer for it.
  bool reduce(bool all, bool wait);
  /// @throws Error naming a parameter whose gradient came after the bucket's were reduced.
  void check_none_late() const;
  /// The local part of parameter k's reduced gradient. Collective over the team where it is sharded.
  at::Tensor gradient(std::size_t k);
  /// The gradient of what came on this worker.
  at::Tensor own_gradient(std::size_t k) const;
  /// Parameter k's gradient so far, where gradients live a step; it stays as it is; `reduced`, or this
  /// worker's own. Collective over the team where it is reduced.
  at::Tensor gradient_so_far(std::size_t k, bool reduced) const;

  /// This worker's shares of its parameters, by `plan().parameters`; its own gradients too, while they are
  /// not reduced.
  std::vector<Share> shares(bool own_gradients) const;
  /// Values, and masters where they are others, as a training goes on from them; `updated` makes what was
  /// written into them known. Waits for values that are coming.
  State state();
  /// Keeps the masters of half values in these places from now on, by `plan().parameters`; in memory without
  /// any (`Store::keep_masters_in`).
  void keep_masters_in(const std::vector<std::shared_ptr<const StateElsewhere>>& places);
  /// Casts masters that lie elsewhere to the values.
  void cast_masters();
  /// Spreads the trained values: cast, and gathered or released. A forward that was recorded before is an
  /// Error in backward, because it used other values.
  void updated();

  /// What it holds all the time, in bytes.
  std::int64_t parameter_bytes() const;
  std::int64_t master_bytes() const;
  std::int64_t gradient_bytes() const;
  std::int64_t gathered_bytes() const;  ///< while its values are gathered
  std::int64_t padding_bytes() const;   ///< of its piece, where others' have an element more

 private:
  void copy_values() const;
  void count_a_write(std::size_t k);
  const Operation& operation(std::string_view what);
  /// Elements of parameter k that this worker trains, of the bucket's.
  Interval trained(std::size_t k) const;
  /// The same elements, in a tensor of all elements that this worker trains.
  at::Tensor trained_part(const at::Tensor& flat, std::size_t k) const;
  /// Where those that this worker trains begin.
  std::int64_t from() const { return live_.values == Lifetimes::Values::always ? 0 : team_.begin(); }
  at::Tensor shaped(const at::Tensor& flat, std::size_t k) const;
  std::int64_t bytes_of(std::int64_t elements, const at::Tensor& like) const;

  BucketPlan plan_;
  std::vector<Parameter> parameters_;
  std::vector<Space> use_spaces_;
  std::vector<std::int64_t> begins_;
  Team team_;
  Lifetimes asked_;
  Lifetimes live_;
  std::int64_t kept_up_to_;

  std::map<std::string, Operation, std::less<>> operations_;  // by what they do
  std::optional<Values> values_;
  at::Tensor
      master_;  // of the piece, in the sums' type: itself where it is of that, or masters lie elsewhere
  std::vector<std::shared_ptr<const StateElsewhere>> masters_;  // there, by parameter
  std::optional<Gradients> gradients_;
  std::vector<Leaf> leaves_;
  std::vector<std::int64_t>
      versions_;  // of the leaves, as this wrote them: any other write changes them more
};

}  // namespace riesz
