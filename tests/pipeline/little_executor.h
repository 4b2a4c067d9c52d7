// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz::testing {

/// Runs a table as a pipeline would: workers go on in any order (by the seed), wait for messages, and send
/// with room for `capacity` messages to each other worker. It shares no code with `verify`. @returns "" if
/// all was done, else why not.
std::string execute(const Schedule& table, int capacity, std::uint32_t seed);

}  // namespace riesz::testing
