// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/step_ways.h"

#include "riesz/comm/communicator.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {
namespace {

/// nullptr if this worker sends and receives nothing in it, or has only `apply`.
const Rounds* rounds_of_step(const Primitive& step) {
  const bool takes_part = step.domain().partition().active() || step.range().partition().active();
  const Rounds* rounds = takes_part && step.sends() ? step.rounds() : nullptr;
  return rounds == nullptr || rounds->identity ? nullptr : rounds;
}

}  // namespace

c10::SmallVector<StepWay, 4> step_ways(const Operator& A, const at::Tensor& x) {
  const std::vector<Step>& steps = A.steps();
  c10::SmallVector<StepWay, 4> ways(steps.size(), StepWay::any);
  if (x.is_cpu() || steps.size() < 2) return ways;
  bool between_partitions = false;
  for (std::size_t k = 0; k < steps.size(); ++k) {
    if (between_partitions && rounds_of_step(*steps[k]) != nullptr) ways[k] = StepWay::staged;
    // By the spaces, for a worker whose own part stays where it is has no rounds that say so.
    const bool moves = steps[k]->sends() && steps[k]->domain().partition() != steps[k]->range().partition();
    between_partitions = between_partitions || moves;
  }
  bool issued_later = false;
  for (std::size_t k = steps.size(); k-- > 0;) {
    const Rounds* rounds = rounds_of_step(*steps[k]);
    if (rounds == nullptr || rounds->detached || ways[k] == StepWay::staged) continue;
    if (Communicator::world().device_transport(x.device(), rounds->team, steps[k]->operation().text))
      issued_later = true;
    else if (issued_later)
      ways[k] = StepWay::awaited;
  }
  return ways;
}

}  // namespace riesz
