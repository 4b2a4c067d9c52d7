// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/comm/job_processes.h"
#include "riesz/comm/watch.h"

namespace riesz {

/// Watches the start of this worker: past the deadline in one step, the job ends with a report of how far the
/// job's processes on this host are. `Runtime` goes from step to step. Private to this room.
class StartUp {
 public:
  ~StartUp();

  void enter(StartStep step);

 private:
  std::optional<Watch> watch_;
};

}  // namespace riesz
