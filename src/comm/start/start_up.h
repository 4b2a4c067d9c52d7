// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/comm/progress/watchdog.h"
#include "riesz/comm/start/job_processes.h"

namespace riesz {

/// A guard of this worker's start. If one step takes longer than the deadline, the job ends with a report of
/// how far its processes on this host are. `Runtime` goes from step to step. Private to src/comm.
class StartUp {
 public:
  ~StartUp();

  void enter(StartStep step);

 private:
  std::optional<Watchdog> watch_;
};

}  // namespace riesz
