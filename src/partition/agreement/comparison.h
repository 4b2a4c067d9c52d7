// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress/background_task.h"
#include "riesz/partition/space.h"

namespace riesz {

/// A comparison of bits between workers that must have the same ones. First they exchange types and digests.
/// If these differ, they look closer: digests of ever smaller pieces, then the value. All its messages get
/// their match keys when it is made, in program order. So it may end whenever the others come, and no other
/// message waits for it. It fails with the Error of `check_alike`, which is held until something throws it.
/// Private to src/partition.
class Comparison final : public BackgroundTask {
 public:
  /// Begins to compare `local` along the axes where X is Replicated or Copied; nullptr if no other worker
  /// must have the same bits.
  static std::shared_ptr<Comparison> begin(const std::string& what, const Space& X, const at::Tensor& local);

  /// From here on the program may write `local`: what may yet be looked at is copied.
  void keep_copy();
  const std::string& text() const { return operation_.text; }

 private:
  using Numbers = std::vector<std::int64_t>;
  /// Two ranks of `team_` that differ in one coordinate only.
  struct Pair {
    int axis;
    int one;
    int other;
  };

  Comparison(std::string what, Space X, Partition team, const at::Tensor& local);

  bool progress() override;
  const std::string& operation() const override { return operation_.text; }
  std::vector<int> waits_for() const override { return requests_->unfinished(); }
  bool holds_failure() const override { return true; }

  void exchange(const at::Tensor& mine);
  void exchange(const Numbers& mine);
  const std::int64_t* numbers_of(int rank) const;
  bool finds_a_difference();
  void check_types() const;
  std::int64_t pieces() const;
  std::int64_t cut(std::int64_t piece) const;
  void exchange_pieces();
  void choose_piece();
  std::int64_t digest_of(std::int64_t begin, std::int64_t end) const;
  [[noreturn]] void throw_values() const;
  [[noreturn]] void throw_difference(const std::string& one, const std::string& other) const;

  std::string what_;
  Space X_;
  Partition team_;
  Operation operation_;
  std::mutex flat_mutex_;
  at::Tensor flat_;  // in host memory
  std::vector<Reservation> rounds_;
  std::size_t round_ = 0;
  std::unique_ptr<Requests> requests_;
  std::vector<at::Tensor> all_;   // of this round, by rank of the team
  std::optional<Pair> pair_;      // two that differ, once that is known
  std::int64_t begin_ = 0, end_;  // the first element that differs is in [begin_, end_)
};

}  // namespace riesz
