// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/progress/given_up.h"

#include <ATen/ops/empty.h>

#include <chrono>
#include <memory>
#include <utility>

#include "riesz/comm/given_up_label.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/recording/recorder.h"

namespace riesz {
namespace {

/// So long a worker has to say what went wrong, before others say that they wait in vain.
constexpr std::chrono::seconds kOwnReport(2);

std::vector<Transfer> empty_transfers(const std::vector<int>& peers) {
  std::vector<Transfer> transfers;
  for (const int peer : peers) transfers.push_back({peer, at::empty({0}, at::kByte), given_up_label()});
  return transfers;
}

/// Tells those who wait.
class GivenUp final : public BackgroundTask {
 public:
  GivenUp(const Operation& operation, std::vector<UnsentRound> rounds)
      : operation_(operation.name, operation.text + ", given up"), rounds_(std::move(rounds)) {}

 private:
  bool progress() override {
    if (std::chrono::steady_clock::now() - since_ < kOwnReport) return false;
    for (const UnsentRound& round : std::exchange(rounds_, {})) {
      if (!round.reservation.lives()) continue;
      const std::vector<bool> all(round.to.size(), true), none(round.from.size(), false);
      round.reservation.some(all, none).post(operation_, empty_transfers(round.to), {}, Counted::begun);
    }
    return true;
  }
  const std::string& operation() const override { return operation_.text; }
  std::vector<int> waits_for() const override { return {}; }

  const Operation operation_;
  std::vector<UnsentRound> rounds_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

}  // namespace

void give_up(const Operation& operation, std::vector<UnsentRound> rounds) {
  if (rounds.empty() || Recorder::current() != nullptr) return;
  for (const UnsentRound& round : rounds) {
    const std::vector<bool> none(round.to.size(), false), all(round.from.size(), true);
    round.reservation.some(none, all).post(operation, {}, empty_transfers(round.from), Counted::begun);
  }
  run_in_background(std::make_shared<GivenUp>(operation, std::move(rounds)));
}

}  // namespace riesz
