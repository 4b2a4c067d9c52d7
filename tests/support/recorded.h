// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/comm/recording/recording.h"

namespace riesz::testing {

using Program = std::function<void(int rank)>;

/// What worker `rank` of a job of so many records of `program`, which is run in a simulation.
Recording recorded_as(int rank, int workers, const std::function<void()>& program);

/// What each worker of a job of so many records of `program`.
std::vector<Recording> recorded(int workers, const Program& program);

}  // namespace riesz::testing
