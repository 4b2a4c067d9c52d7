// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/parameter.h"

namespace riesz {

/// Parameters that train with a rate or a decay of their own: a group of the key optimizer.groups.
struct ParameterGroup {
  std::vector<std::string> patterns;    ///< of names and of modules' paths, as those of train.frozen
  std::optional<double> learning_rate;  ///< the highest, in place of optimizer.learning_rate
  std::optional<double> weight_decay;   ///< in place of optimizer.weight_decay, whether they decay or not

  bool has(const Parameter& parameter) const;
};

/// The groups of a text such as "lm_head transformer.wte: learning_rate=1e-4; *.bias: weight_decay=0.1". A
/// parameter is in the first that has it. `said_in`: where the text stands.
/// @throws Error naming the group, and the word in it, that is none.
std::vector<ParameterGroup> parameter_groups(const std::string& text, const std::string& said_in);

/// @throws Error naming a pattern that means none of these parameters.
void check_groups(const std::vector<ParameterGroup>& groups, const std::vector<Parameter>& parameters,
                  const std::string& said_in);

}  // namespace riesz
