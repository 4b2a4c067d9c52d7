// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/progress.h"

namespace riesz {

/// A move on a `TeamBuffer` under way. Whoever asks moves it on: the one who waits, and the background.
class TeamMove : public Activity {
 public:
  bool advance() final;

  /// Waits for the end: this worker's result is there, and no peer reads this worker's buffer for it any
  /// more.
  /// @throws what went wrong, such as an Error where the team's workers began different moves.
  void wait();

 protected:
  /// `operation`: a text for people.
  explicit TeamMove(std::string operation) : operation_(std::move(operation)) {}
  const std::string& operation() const { return operation_; }

  /// Goes on without waiting; true at the end.
  virtual bool go_on() = 0;
  /// World ranks of those who have not arrived.
  virtual std::vector<int> waits_for() const = 0;

 private:
  std::string operation_;
  std::mutex mutex_;
  std::atomic<bool> ended_ = false;
  std::exception_ptr failure_;
};

/// Goes on at once as far as it can, and then in the background.
std::shared_ptr<TeamMove> begun(std::shared_ptr<TeamMove> move);

}  // namespace riesz
