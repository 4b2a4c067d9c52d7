// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/rounds.h"

#include <algorithm>

namespace riesz {

Traffic Round::traffic() const {
  Traffic sum;
  for (const Send& send : sends) {
    if (send.parts.elements > 0) sum += {send.parts.elements, 0, 1};
  }
  return sum;
}

Traffic Rounds::traffic() const {
  Traffic sum;
  for (const Round& round : rounds) sum += round.traffic();
  return sum;
}

bool Rounds::moves() const {
  return std::any_of(rounds.begin(), rounds.end(), [](const Round& round) { return !round.empty(); });
}

}  // namespace riesz
