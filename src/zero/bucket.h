// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/team_buffer.h"
#include "riesz/optim/store.h"
#include "riesz/zero/flat_memory.h"
#include "riesz/zero/units.h"

namespace riesz {

/// The workers that share a bucket, and the pieces of its n elements that are theirs: balanced, uneven where
/// they do not divide, not padded.
struct Team {
  std::vector<int> workers;  ///< world ranks
  int mine = 0;              ///< this worker's position
  Pieces begins;

  int size() const { return static_cast<int>(workers.size()); }
  std::int64_t begin() const { return begins[static_cast<std::size_t>(mine)]; }
  std::int64_t end() const { return begins[static_cast<std::size_t>(mine) + 1]; }
  std::int64_t largest() const;
};

/// Buffers in which a bucket's gradients lie only while they are reduced; the buckets of a team share two, in
/// turns, which are alike on all workers.
struct PassingBuffers {
  std::array<std::unique_ptr<TeamBuffer>, 2> buffers;
  std::array<std::shared_ptr<TeamMove>, 2> moves;
  std::size_t turn = 0;

  /// Has the next one nothing that moves in it? If it may `wait`, it has.
  bool free(bool wait);
};

/// What the buckets of a team share.
struct TeamMemory {
  std::unique_ptr<TeamBuffer> pieces;  ///< stage 3: of the values, bucket after bucket
  std::int64_t next = 0;               ///< where the next bucket's begins
  PassingBuffers passing;              ///< stages 2 and 3
};

/// How long a bucket's values and gradients live: that is what a ZeRO stage is.
///
///     stage   values on each worker      gradients on each worker    reduced
///     0       whole                      whole                       once a step: AllReduce
///     1       whole, gathered a step     whole                       once a step: ReduceScatter
///     2       whole, gathered a step     its piece                   every micro-batch: ReduceScatter
///     3       its piece, whole in use    its piece                   every micro-batch: ReduceScatter
///
/// In a team of one worker nothing moves, and all stages are stage 0.
class Bucket {
 public:
  Bucket(BucketPlan plan, const std::vector<Parameter>& all, int stage, std::int64_t kept_up_to);
  /// Takes the parameters' values over; collective over the team.
  void take_over(const std::shared_ptr<TeamMemory>& shared);

  const std::string& name() const { return plan_.name; }
  const BucketPlan& plan() const { return plan_; }
  const Team& team() const { return team_; }
  std::int64_t elements() const { return team_.begins.back(); }
  /// fp32 for bf16 and fp16, else the values' own type: what gradients are added in, and values are trained
  /// in.
  at::ScalarType sum_type() const;
  at::ScalarType type() const { return type_; }

  /// Parameter number k of the bucket: its local part among the whole values, and the space it is used in.
  const at::Tensor& leaf(std::size_t k) const { return leaves_[k]; }
  Space use_space(std::size_t k) const;

  /// Begins to bring the whole values here; waits until they are.
  void fetch();
  void use();
  /// Waits for values under way: nobody reads this worker's after it.
  void settle();
  /// Gives the memory of the whole values back, where they are gathered for each use and not kept.
  void let_go();
  bool kept() const { return elements() <= kept_up_to_; }
  /// Are the whole values here now?
  bool there() const { return state_ == Values::there; }
  /// Writes the local part of parameter k, wherever it lies. Local; waits for values under way.
  void set(std::size_t k, const at::Tensor& local);
  /// @throws Error if something has written to parameter k at its leaf, where that is not what is trained: in
  /// stage 3, whatever the team, and where there are masters.
  void check_unwritten(std::size_t k) const;

  /// Adds the gradients at the leaves to the bucket's, and takes them from there.
  void take_gradients();
  /// Those that have not come in this step are zero.
  void fill_gradients();
  /// @throws Error naming a parameter whose gradient came after the bucket's were reduced.
  void check_taken() const;
  /// Begins to reduce what was taken; false if no buffer is free yet, unless it may wait for one.
  bool reduce(bool wait);
  /// Waits for that.
  void finish();
  bool reduced() const { return reduced_; }
  /// Another micro-batch follows: what it adds is reduced anew.
  void again() { reduced_ = false; }
  void zero_gradients();
  /// No gradient came: all are zero.
  void clear() { (gradients_ ? gradients_->local() : sum_).zero_(); }
  /// Of parameter k: the local part of its reduced gradient. Collective over the team where it is sharded.
  at::Tensor gradient(std::size_t k);
  /// Of what came on this worker.
  at::Tensor own_gradient(std::size_t k) const;

  /// What this worker trains of each of its parameters, by `plan().parameters`; its own gradients too, while
  /// they are not reduced.
  std::vector<Share> shares(bool own_gradients) const;
  /// What was trained is made known: cast, and gathered or let go.
  void updated();

  /// What it holds all the time, in bytes.
  std::int64_t parameter_bytes() const;
  std::int64_t master_bytes() const;
  std::int64_t gradient_bytes() const;
  std::int64_t gathered_bytes() const;  ///< while its values are gathered
  std::int64_t padding_bytes() const;   ///< of its piece, where others' have an element more

 private:
  enum class Values { absent, coming, there };

  void take_over_values();
  void make_leaves();
  void make_gradients(const at::TensorOptions& options);
  void add_gradients_to(const at::Tensor& flat);
  void fill_gradients_in(const at::Tensor& flat);
  Operation operation(const char* what) const;
  std::int64_t offset(std::size_t k) const { return offsets_[k]; }
  bool shards_values() const { return stage_ == 3; }
  bool shards_gradients() const { return stage_ >= 2; }

  BucketPlan plan_;
  std::vector<Parameter> parameters_;
  std::vector<std::int64_t> offsets_;
  std::vector<at::Tensor> leaves_;
  std::vector<std::int64_t> versions_;  // of the leaves: a write by anything but this changes them
  at::ScalarType type_;
  Team team_;
  int asked_;  // the stage that was asked for
  int stage_;  // 0 in a team of one
  std::int64_t kept_up_to_;

  std::optional<FlatMemory> whole_;     // the values, where they do not lie in values_
  std::unique_ptr<TeamBuffer> values_;  // all of them
  std::shared_ptr<TeamMemory> shared_;
  std::int64_t from_ = 0;  // where this worker's piece begins among the shared ones
  at::Tensor piece_;       // the values that this worker trains
  at::Tensor master_;      // the same in the sums' type
  Values state_ = Values::there;
  std::shared_ptr<TeamMove> coming_;

  std::unique_ptr<TeamBuffer> gradients_;  // of all values
  at::Tensor sum_;                         // of what this worker trains
  std::vector<bool> taken_;                // has a gradient of parameter k come in this step?
  bool summed_ = false;                    // has sum_ anything of this step?
  bool reduced_ = false;
  std::shared_ptr<TeamMove> reducing_;
};

}  // namespace riesz
