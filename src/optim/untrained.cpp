// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/untrained.h"

#include "riesz/partition/vector.h"

namespace riesz {

StateView detail::whole_value(const std::string& what, const Parameter& parameter) {
  const Space& X = parameter.space();
  check_not_partial(what + parameter.name(), X);
  const Partition& P = X.partition();
  const bool counted =
      P.active() && X.leader(P.rank(), {Placement::Replicated, Placement::Copied}) == P.rank();
  const at::Tensor value = parameter.leaf().detach().view({-1});
  return {parameter.name(), "value", X, {0, value.numel()}, counted, value};
}

State untrained_state(const std::vector<Parameter>& parameters) {
  State state;
  for (const Parameter& parameter : parameters) {
    if (!parameter.trained()) state.push_back(detail::whole_value("untrained_state: ", parameter));
  }
  return state;
}

}  // namespace riesz
