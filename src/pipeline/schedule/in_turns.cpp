// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/in_turns.h"

namespace riesz {

Action as(Pass pass, Action action) {
  action.pass = pass;
  return action;
}

std::vector<Action> each_micro_batch(Pass pass, int chunk, int micro_batches) {
  std::vector<Action> passes;
  for (int i = 0; i < micro_batches; ++i) passes.push_back({pass, chunk, i});
  return passes;
}

std::vector<Action> in_turns(const Turns& turns) {
  std::vector<Action> row;
  auto forward = turns.forward.begin();
  auto weights = turns.backward.begin();
  const auto go_forward = [&] {
    if (forward != turns.forward.end()) row.push_back(*forward++);
  };
  for (int i = 1; i < turns.ahead; ++i) go_forward();
  for (const Action& backward : turns.backward) {
    go_forward();
    row.push_back(backward);
    const bool late = &backward - turns.backward.data() >= turns.put_off;
    if (backward.pass == Pass::backward_inputs && late) row.push_back(as(Pass::backward_weights, *weights++));
  }
  for (; weights != turns.backward.end() && weights->pass == Pass::backward_inputs; ++weights)
    row.push_back(as(Pass::backward_weights, *weights));
  return row;
}

}  // namespace riesz
