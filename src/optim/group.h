// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "riesz/nn/parameter.h"

namespace riesz {

/// Which parameters?
using Which = std::function<bool(const Parameter&)>;

/// These parameters; one that is lent stands for its owner. Others of equal names, such as another model's,
/// are not among them.
Which among(const std::vector<Parameter>& parameters);

/// Parameters whose published shape has two dims or more: weights and tables, but neither biases nor norms.
/// nanoGPT and Hugging Face's examples decay these. AdamW(parameters, {.weight_decay = 0}, {{.has =
/// matrices(), .weight_decay = 0.1}}).
Which matrices();

/// A group of parameters with options of its own; an option that is not set is the general one. Where several
/// groups have a parameter, the first counts. Copies of one weight (`several`) are in the groups of the first
/// store's.
struct Group {
  Which has;
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};  ///< of all of them, whether they decay or not
  std::optional<double> momentum = {};      ///< SGD's momentum, beta1 of others
  std::optional<double> beta2 = {};
};

/// The options of a step that may differ from parameter to parameter.
struct Setting {
  double learning_rate = 0;
  double weight_decay = 0;
  std::optional<double> momentum = {};  ///< nothing where the optimizer has none
  std::optional<double> beta2 = {};     ///< likewise

  bool operator==(const Setting&) const = default;
};

/// The setting of a parameter: that of the first group that has it, else the general one, whose decay acts on
/// parameters that decay.
Setting setting_of(const Parameter& parameter, const Setting& general, const std::vector<Group>& groups);

}  // namespace riesz
