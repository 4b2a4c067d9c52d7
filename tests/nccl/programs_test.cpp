// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Random programs of operators on random grids of some workers, called at once, in two halves and dropped,
// there and back: by NCCL they have the CPU's bits and traffic, also where some teams are staged.
#include <gtest/gtest.h>

#include <vector>

#include "../primitives/random_program.h"
#include "in_turns.h"
#include "on_nccl.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

struct Ran {
  std::vector<std::vector<at::Tensor>> results;  // by channel
  Traffic sent;
};

Ran ran(const InterleavedProgram& program, at::Device device, bool whole) {
  Counters::instance().reset();
  Channels channels;
  run_in_turns(program, device, whole, channels);
  finish_background();  // what was dropped
  Ran all{{}, Counters::instance().total()};
  for (const auto& channel : channels) all.results.push_back(channel->results());
  return all;
}

class ProgramsOnNccl : public OnNccl {
 protected:
  /// Whole numbers have the same sum in any order.
  void expect_the_cpus(const NcclSettings& settings, int seeds, bool whole) {
    set(settings);
    for_each_seed(seeds, [&](std::uint64_t seed) {
      SCOPED_TRACE(lateness_text());
      const InterleavedProgram program = interleaved_program(seed, Runtime::size(), Turns::alike);
      const Ran here = ran(program, at::kCPU, whole);
      const Ran there = ran(program, pretend_device(), whole);
      EXPECT_EQ(there.sent, here.sent);
      for (std::size_t channel = 0; channel < here.results.size(); ++channel) {
        for (std::size_t i = 0; i < here.results[channel].size(); ++i)
          EXPECT_SAME_BITS(there.results[channel][i], here.results[channel][i]);
      }
    });
  }
};

TEST_F(ProgramsOnNccl, HaveTheBitsOfTheCpu) {
  if (Runtime::size() == 1) return;
  expect_the_cpus({.compare = true}, 12, false);
  EXPECT_GT(in_.calls("ncclSend"), 0);
}

/// Who has room for how many differs. So a team of one grid may have a communicator, and its neighbour none.
TEST_F(ProgramsOnNccl, HaveTheBitsOfTheCpuWithFewCommunicators) {
  if (Runtime::size() == 1) return;
  for (const bool compare : {false, true}) {
    const int room = 1 + Runtime::rank() % 3;
    expect_the_cpus({.max_communicators = room, .compare = compare}, 8, false);
  }
  EXPECT_GT(in_.calls("ncclSend"), 0);
}

TEST_F(ProgramsOnNccl, HaveTheBitsOfTheCpuOnSharedDevices) {
  if (Runtime::size() < 3) return;
  in_.set_identity(concat("bus ", Runtime::rank() % 2));
  expect_the_cpus({.compare = true}, 8, false);
  EXPECT_GT(in_.calls("ncclSend"), 0);
}

TEST_F(ProgramsOnNccl, HaveTheSumsOfTheCpuByTheLibrarysCollectives) {
  if (Runtime::size() == 1) return;
  expect_the_cpus({.compare = true, .collectives = true}, 12, true);
  EXPECT_GT(in_.calls("ncclAllReduce"), 0);
  EXPECT_GT(in_.calls("ncclSend"), 0);  // what the library has no collective for
}

}  // namespace
}  // namespace riesz::testing
