// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/comm/communicator.h"
#include "riesz/comm/operation.h"

namespace riesz {

/// A round that was reserved, and of which nothing was sent. World ranks, in the reservation's order.
struct UnsentRound {
  Reservation reservation;
  std::vector<int> to, from;
};

/// Gives up rounds of an operation that an exception has left: receives what comes for them, and drops it.
/// Two seconds later, if the job still runs then, the workers that wait for their messages are told: they get
/// an Error that names both ends. By then this worker has said what went wrong, unless the program has caught
/// it. Private to src/comm and src/primitives.
void give_up(const Operation& operation, std::vector<UnsentRound> rounds);

}  // namespace riesz
