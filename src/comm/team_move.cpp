// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team_move.h"

#include <ATen/core/grad_mode.h>

#include <chrono>

#include "riesz/comm/message_batch.h"
#include "riesz/comm/wait.h"

namespace riesz {

bool TeamMove::advance() {
  if (ended_) return true;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || ended_) return ended_;
  try {
    const at::NoGradGuard no_gradient;  // a thread has its own mode, and its own batch
    const MessageBatch::Pause alone;
    if (go_on()) ended_ = true;
  } catch (...) {
    failure_ = std::current_exception();
    ended_ = true;
  }
  return ended_;
}

void TeamMove::wait() {
  wait_until(
      operation_, [this] { return advance(); },
      [this] {
        const std::lock_guard lock(mutex_);
        return waits_for();
      });
  if (failure_) std::rethrow_exception(failure_);  // written before `ended_` was
}

std::shared_ptr<TeamMove> begun(std::shared_ptr<TeamMove> move) {
  // Where all come together, a small move ends sooner than the background wakes up.
  constexpr std::chrono::microseconds kSoon(3);
  if (move->advance()) return move;
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (move->advance()) return move;
  } while (std::chrono::steady_clock::now() - begin < kSoon);
  advance_in_background(move);
  return move;
}

}  // namespace riesz
