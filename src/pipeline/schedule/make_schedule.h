// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/pipeline/schedule/makers.h"

namespace riesz {

/// The schedules that there are by name, in the order of makers.h, each with a line about it.
struct NamedSchedule {
  std::string name;
  std::string about;
  Schedule (*make)(const ScheduleOptions&);
};
const std::vector<NamedSchedule>& named_schedules();

/// The table of this name. @throws Error that lists the names, or says which options fit.
Schedule make_schedule(const std::string& name, const ScheduleOptions& options);

}  // namespace riesz
