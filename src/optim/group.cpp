// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/group.h"

#include <algorithm>

namespace riesz {

Which among(const std::vector<Parameter>& parameters) {
  std::vector<Parameter> owners;
  for (const Parameter& parameter : parameters) owners.push_back(parameter.owner().value_or(parameter));
  return [owners](const Parameter& parameter) {
    return std::find(owners.begin(), owners.end(), parameter) != owners.end();
  };
}

Which matrices() {
  return [](const Parameter& parameter) { return parameter.shape().size() >= 2; };
}

Setting setting_of(const Parameter& parameter, const Setting& general, const std::vector<Group>& groups) {
  Setting result = general;
  if (!parameter.decays()) result.weight_decay = 0;
  for (const Group& group : groups) {
    if (!group.has(parameter)) continue;
    result.learning_rate *= group.learning_rate_scale;
    if (group.weight_decay) result.weight_decay = *group.weight_decay;
    if (group.momentum) result.momentum = group.momentum;
    if (group.beta2) result.beta2 = group.beta2;
    break;
  }
  return result;
}

}  // namespace riesz
