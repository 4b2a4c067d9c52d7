// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/recorded.h"

#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/simulation.h"

namespace riesz::testing {

Recording recorded_as(int rank, int workers, const std::function<void()>& program) {
  Recorder recorder;
  {
    const Simulation job(rank, workers, &recorder);
    program();
  }
  return recorder.take();
}

std::vector<Recording> recorded(int workers, const Program& program) {
  std::vector<Recording> all;
  for (int rank = 0; rank < workers; ++rank)
    all.push_back(recorded_as(rank, workers, [&] { program(rank); }));
  return all;
}

}  // namespace riesz::testing
