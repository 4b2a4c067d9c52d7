// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/comm/progress/background.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/simulation.h"

namespace riesz::testing {

using Program = std::function<void(int rank)>;

/// What each worker of a job records of a program, one after the other.
inline std::vector<Recording> recorded(int workers, const Program& program) {
  std::vector<Recording> all;
  for (int rank = 0; rank < workers; ++rank) {
    Recorder recorder;
    {
      const Simulation job(rank, workers, &recorder);
      program(rank);
      finish_background();
    }
    all.push_back(recorder.take());
  }
  return all;
}

}  // namespace riesz::testing
