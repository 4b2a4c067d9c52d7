// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/io/adder.h"
#include "riesz/train/data/task.h"

namespace riesz {

/// The task of sums of two numbers. A seeded choice is held out; each epoch visits the others in an order of
/// its own. Only the digits of the answer count in the loss.
class AdderTask final : public Task {
 public:
  /// @throws Error if nothing is left to hold out or to train on.
  explicit AdderTask(const Config& config);

  std::int64_t vocabulary() const override { return Adder::vocabulary; }
  DataUnit unit() const override { return {.each = length()}; }
  Batch batch(std::int64_t first, std::int64_t sequences) const override;
  std::int64_t held_out() const override { return static_cast<std::int64_t>(held_out_.size()); }
  Batch held_out(std::int64_t begin, std::int64_t end) const override;
  std::string describe() const override;
  std::uint64_t digest() const override;
  /// The share of exact answers, for trained and held-out sums apart, and a few sums as the model writes
  /// them.
  std::vector<std::string> report(const Predict& model, const HeldOut& held_out) const override;

  /// The sums' numbers, as `Adder` counts them.
  const std::vector<std::int64_t>& training_sums() const { return training_; }
  const std::vector<std::int64_t>& held_out_sums() const { return held_out_; }

 private:
  /// Tokens of a sequence.
  std::int64_t length() const { return adder_.question() + adder_.answer() - 1; }
  struct Score {
    std::int64_t exact = 0;
    std::int64_t of = 0;
  };

  Batch batch_of(const std::vector<std::int64_t>& sums) const;
  std::vector<std::int64_t> answers(const Predict& model, const std::vector<std::int64_t>& sums) const;
  Score score(const Predict& model, const std::vector<std::int64_t>& sums) const;
  std::string sum_text(std::int64_t sum, std::int64_t answer) const;

  Adder adder_;
  std::uint64_t seed_;
  std::vector<std::int64_t> held_out_;
  std::vector<std::int64_t> training_;
  mutable std::int64_t epoch_ = -1;  // of the order that was asked for last
  mutable std::vector<std::int64_t> order_;
};

}  // namespace riesz
