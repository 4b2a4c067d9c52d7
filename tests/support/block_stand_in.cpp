// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/block_stand_in.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include "riesz/comm/error.h"

namespace riesz::testing {
namespace {

constexpr std::size_t kWarp = 32, kStack = std::size_t{1} << 16;

enum class At { runs, other_lane, block, end };

/// A thread of a block: a context of its own.
struct Lane {
  ucontext_t context;
  std::unique_ptr<char[]> stack;
  At at = At::runs;
  float gives = 0, gets = 0;
  int apart = 0;
};

struct RunningBlock {
  const std::function<void()>& f;
  std::vector<Lane> lanes;
  ucontext_t above = {};
  std::size_t now = 0;
};

thread_local RunningBlock* running = nullptr;

Lane& lane_now() { return running->lanes[running->now]; }

/// Goes back to the block until it lets this thread go on.
void stop_at(At at) {
  Lane& lane = lane_now();
  lane.at = at;
  swapcontext(&lane.context, &running->above);
}

void begin_lane() {
  running->f();
  stop_at(At::end);
}

/// Lets the threads of a warp go on together, until each waits for the block or has ended.
void run_warp(RunningBlock& block, std::size_t first) {
  for (;;) {
    for (std::size_t i = first; i < first + kWarp; ++i) {
      if (block.lanes[i].at != At::runs) continue;
      block.now = i;
      swapcontext(&block.above, &block.lanes[i].context);
    }
    const At at = block.lanes[first].at;
    for (std::size_t i = first; i < first + kWarp; ++i)
      RIESZ_CHECK(block.lanes[i].at == at, "thread ", i, " of a block does not call what thread ", first,
                  " of its warp calls");
    if (at != At::other_lane) return;
    for (std::size_t i = first; i < first + kWarp; ++i)
      block.lanes[i].gets =
          block.lanes[first + ((i - first) ^ static_cast<std::size_t>(block.lanes[i].apart))].gives;
    for (std::size_t i = first; i < first + kWarp; ++i) block.lanes[i].at = At::runs;
  }
}

}  // namespace

void run_block(int threads, std::uint64_t seed, const std::function<void()>& f) {
  RIESZ_CHECK(threads > 0 && threads % static_cast<int>(kWarp) == 0, "a block has whole warps, not ", threads,
              " threads");
  RunningBlock block{f, std::vector<Lane>(static_cast<std::size_t>(threads))};
  for (Lane& lane : block.lanes) {
    lane.stack.reset(new char[kStack]);
    getcontext(&lane.context);
    lane.context.uc_stack.ss_sp = lane.stack.get();
    lane.context.uc_stack.ss_size = kStack;
    lane.context.uc_link = nullptr;
    makecontext(&lane.context, begin_lane, 0);
  }
  std::vector<std::size_t> warps;
  for (std::size_t first = 0; first < block.lanes.size(); first += kWarp) warps.push_back(first);
  std::mt19937_64 draws(seed);
  running = &block;
  for (At at = At::runs; at != At::end;) {
    std::shuffle(warps.begin(), warps.end(), draws);
    for (const std::size_t first : warps) run_warp(block, first);
    at = block.lanes[0].at;
    for (Lane& lane : block.lanes) {
      RIESZ_CHECK(lane.at == at, "some threads of a block have ended, and others wait for them");
      lane.at = At::runs;
    }
  }
  running = nullptr;
}

BlockIndex thread_of_block() { return {static_cast<unsigned>(running->now)}; }
BlockIndex size_of_block() { return {static_cast<unsigned>(running->lanes.size())}; }
void wait_for_block() { stop_at(At::block); }

float of_other_lane(float x, int apart) {
  Lane& lane = lane_now();
  lane.gives = x;
  lane.apart = apart;
  stop_at(At::other_lane);
  return lane.gets;
}

}  // namespace riesz::testing
