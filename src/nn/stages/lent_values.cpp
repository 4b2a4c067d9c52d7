// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/lent_values.h"

#include <ATen/core/grad_mode.h>

#include <optional>

namespace riesz {

LentValues::LentValues(const Module& model) : lent_(model.lent()) {
  const at::NoGradGuard no_gradient;
  for (LentParameter& each : lent_) {
    const Vector value = each.here.value();
    const at::Tensor local = value.local().detach();
    // A keeper may take the memory of a value that does not stay.
    each.here.use_leaf(
        Vector(value.space(), each.owner.stays() ? local : local.clone(), value.is_constant()));
  }
}

LentValues::~LentValues() {
  for (LentParameter& each : lent_) each.here.use_leaf(std::nullopt);
}

std::vector<at::Tensor> LentValues::here() const {
  std::vector<at::Tensor> parts;
  for (const LentParameter& each : lent_) parts.push_back(each.here.value().local());
  return parts;
}

}  // namespace riesz
