// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// An action with its place, such as "1F0 (worker 1, slot 3)".
std::string in_place(const Schedule& schedule, int worker, int slot);

/// The conditions of `verify` for each action on its own worker: it is there once, where its chunk lies, and
/// in the order of its chunk and micro-batch. The earliest slot is looked at first. @throws Error naming the
/// action.
void check_each_action(const Schedule& schedule);

}  // namespace riesz
