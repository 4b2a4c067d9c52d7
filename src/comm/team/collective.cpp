// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/team/collective.h"

#include <chrono>

namespace riesz {

std::shared_ptr<TeamCollective> begun(std::shared_ptr<TeamCollective> collective) {
  // Where all come together, a small collective ends sooner than the background wakes up.
  constexpr std::chrono::microseconds kSoon(3);
  if (collective->advance()) return collective;
  const auto begin = std::chrono::steady_clock::now();
  do {
    if (collective->advance()) return collective;
  } while (std::chrono::steady_clock::now() - begin < kSoon);
  run_in_background(collective);
  return collective;
}

}  // namespace riesz
