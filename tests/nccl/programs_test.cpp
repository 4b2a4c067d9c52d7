// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Random programs of operators on random grids of some workers, called at once, in two halves and dropped,
// there and back: by NCCL they have the CPU's bits and traffic.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../primitives/channel_run.h"
#include "../primitives/interleaved.h"
#include "../primitives/random_program.h"
#include "on_nccl.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/parts.h"

namespace riesz::testing {
namespace {

struct Ran {
  std::vector<std::vector<at::Tensor>> results;  // by channel
  Traffic sent;
};

/// Channels take turns as on all workers, for NCCL has no channels.
Ran ran(const InterleavedProgram& program, at::Device device, bool whole) {
  std::vector<std::unique_ptr<ChannelRun>> channels;
  for (const InterleavedProgram::Channel& channel : program.channels)
    channels.push_back(std::make_unique<ChannelRun>(channel, device, whole));
  Counters::instance().reset();
  const auto& threads = program.acts[static_cast<std::size_t>(Runtime::rank())];
  bool more = true;
  for (std::size_t i = 0; std::exchange(more, false); ++i) {
    for (const std::vector<Act>& acts : threads) {
      if (i >= acts.size()) continue;
      channels[acts[i].channel]->carry_out(acts[i]);
      more = true;
    }
  }
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

TEST_F(ProgramsOnNccl, HaveTheSumsOfTheCpuByTheLibrarysCollectives) {
  if (Runtime::size() == 1) return;
  expect_the_cpus({.compare = true, .collectives = true}, 12, true);
  EXPECT_GT(in_.calls("ncclAllReduce"), 0);
  EXPECT_GT(in_.calls("ncclSend"), 0);  // what the library has no collective for
}

}  // namespace
}  // namespace riesz::testing
