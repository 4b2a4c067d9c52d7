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

/// The parameters of these names.
Which among(const std::vector<Parameter>& parameters);

/// Those whose published shape has two dims or more, as nanoGPT and Hugging Face's examples decay: weights
/// and tables, but neither biases nor norms. AdamW(parameters, {.weight_decay = 0}, {{.has = matrices(),
/// .weight_decay = 0.1}}).
Which matrices();

/// Parameters whose options are not the general ones; what is not set is as for the others. Where several
/// groups have a parameter, the first counts.
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

/// The setting of a parameter: by the first group that has it, else the general one, whose decay is of
/// parameters that decay.
Setting setting_of(const Parameter& parameter, const Setting& general, const std::vector<Group>& groups);

}  // namespace riesz
