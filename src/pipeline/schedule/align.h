// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// The same rows with idle slots where a worker waits, if every action takes one slot: what an action needs
/// stands in earlier slots than its own. The order alone counts in what is given. @throws Error of `verify`.
Schedule aligned(Schedule schedule);

}  // namespace riesz
