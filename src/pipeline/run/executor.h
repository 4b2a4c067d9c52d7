// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/pipeline/run/borrowed.h"
#include "riesz/pipeline/run/micro_batch.h"
#include "riesz/pipeline/run/weight_versions.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// A worker's row of a schedule, carried out. The row alone says which micro-batch computes next, so workers
/// of one stage do the same; when messages arrive decides only when micro-batches pass through the chunks
/// that lie elsewhere.
///
/// Where the model takes another way than the schedule thinks, by its data: a chunk that a micro-batch leaves
/// out has its slots left out. A chunk that a micro-batch comes back to is gone through again where the row
/// has all forward passes before all backward passes (GPipe). That happens between them, and after its own
/// slot, one micro-batch after another.
class Executor {
 public:
  using Forward = std::function<std::optional<Vector>(std::int64_t micro_batch)>;

  /// Runs micro-batches 0 … m − 1, each of whose programs this worker goes through. `borrowed` takes what
  /// each action brings to lent parameters, and `versions`, if there are, say which weights each reads; both
  /// must live as long. The times of its actions are added to `record`, in seconds of the steady clock.
  Executor(std::int64_t m, const std::vector<Action>& row, const MicroBatchOptions& options, Forward forward,
           Borrowed& borrowed, WeightVersions* versions = nullptr, std::vector<Timed>* record = nullptr);

  /// All of it. @throws what a micro-batch threw, as an Error that says where; the others are to be given up
  /// then, by letting go of this.
  void operator()();
  /// By micro-batch; local parts where they lie.
  const std::vector<std::optional<Vector>>& losses() const { return losses_; }

 private:
  MicroBatch& micro_batch(std::int64_t number);
  void carry_out();
  void perform(std::size_t slot);
  void go_forward_again();
  void go_back_to_the_end(MicroBatch& program);
  using Question = std::function<bool()>;
  void turns_of(MicroBatch& program, const std::string& text, const Question& takes, const Question& done);
  std::vector<int> awaited(const MicroBatch& program) const;
  void check_no_circle(const MicroBatch& program) const;
  bool comes_later(const MicroBatch& program, std::size_t slot) const;
  bool pass_through_one();
  void pass_through_all(std::size_t slot);
  void finish();

  const std::vector<Action>& row_;
  MicroBatchOptions options_;
  Forward forward_;
  Borrowed& borrowed_;
  WeightVersions* versions_;
  std::vector<std::unique_ptr<MicroBatch>> under_way_;  // nullptr: not begun, or over
  std::vector<bool> begun_;
  std::vector<std::size_t> slots_;  // of each micro-batch, the end of its last
  std::vector<std::optional<Vector>> losses_;
  std::vector<Timed>* record_;
  std::optional<double> began_;    // computing, of the slot under way
  std::size_t slot_ = 0;           // where it is
  std::size_t forward_until_ = 0;  // the first slot of a backward pass, where no forward pass comes after it
};

}  // namespace riesz
