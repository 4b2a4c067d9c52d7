// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/counters.h"

namespace riesz::testing {

/// What has left this worker since the last `reset`, but for the comparisons that RIESZ_CHECK=1 adds: these
/// are counted as "CheckAlike".
inline Traffic program_traffic() {
  Traffic sum;
  for (const auto& [operation, traffic] : Counters::instance().by_operation())
    if (operation != "CheckAlike") sum += traffic;
  return sum;
}

}  // namespace riesz::testing
