// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "riesz/comm/transport.h"

namespace riesz {

/// Lets `sends`, whose memory nobody else writes, go on in the background until they are taken. What is not
/// taken at once counts as `Counters::unsent` until then. If that is more than `most_unsent`, it waits,
/// unless an activity calls it. @throws Error naming both ends, if all who are to take something wait for
/// this worker, and so for ever. Private to this room.
void depart(const std::string& operation, std::int64_t bytes, std::unique_ptr<Exchange> sends);

}  // namespace riesz
