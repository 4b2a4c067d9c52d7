// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <set>
#include <string>

#include "riesz/pipeline/schedule/makers.h"

namespace riesz {

/// Refuses options that a maker cannot serve, or of which it takes no notice. `chunks` is how many a worker
/// has in this schedule, 0 if any number; `takes` names the other options that it takes. @throws Error naming
/// the option and what fits.
void check_options(const char* name, const ScheduleOptions& options, int chunks,
                   const std::set<std::string>& takes = {});

}  // namespace riesz
