// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/move.h"

#include <chrono>

namespace riesz {

std::shared_ptr<TeamMove> begun(std::shared_ptr<TeamMove> move) {
  // Where all come together, a small move ends sooner than the background wakes up.
  constexpr std::chrono::microseconds kSoon(3);
  if (move->advance()) return move;
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (move->advance()) return move;
  } while (std::chrono::steady_clock::now() - begin < kSoon);
  run_in_background(move);
  return move;
}

}  // namespace riesz
