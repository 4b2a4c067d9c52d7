// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/untrained.h"

#include "riesz/partition/vector.h"

namespace riesz {

State untrained_state(const std::vector<Parameter>& parameters) {
  State state;
  for (const Parameter& parameter : parameters) {
    if (parameter.trained()) continue;
    const Space& X = parameter.space();
    check_not_partial("untrained_state: " + parameter.name(), X);
    const Partition& P = X.partition();
    const bool counted =
        P.active() && X.leader(P.rank(), {Placement::Replicated, Placement::Copied}) == P.rank();
    const at::Tensor value = parameter.leaf().detach().view({-1});
    state.push_back({parameter.name(), "value", X, {0, value.numel()}, counted, value});
  }
  return state;
}

}  // namespace riesz
