// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "../primitives/channel_run.h"
#include "../primitives/interleaved.h"
#include "riesz/comm/runtime.h"

namespace riesz::testing {

using Channels = std::vector<std::unique_ptr<ChannelRun>>;

/// Runs this worker's part of `program`, one act per channel in turn. Channels start empty. NCCL has no
/// channels, so all workers take the same turns.
inline void run_in_turns(const InterleavedProgram& program, at::Device device, bool whole,
                         Channels& channels) {
  for (const InterleavedProgram::Channel& channel : program.channels)
    channels.push_back(std::make_unique<ChannelRun>(channel, device, whole));
  const auto& threads = program.acts[static_cast<std::size_t>(Runtime::rank())];
  bool more = true;
  for (std::size_t i = 0; std::exchange(more, false); ++i) {
    for (const std::vector<Act>& acts : threads) {
      if (i >= acts.size()) continue;
      channels[acts[i].channel]->carry_out(acts[i]);
      more = true;
    }
  }
}

}  // namespace riesz::testing
