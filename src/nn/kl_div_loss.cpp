// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/kl_div_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/kl_div.h>

namespace riesz {

Loss kl_div_loss(const Vector& x, const Vector& y, bool log_target) {
  return element_loss("kl_div_loss", x, y, [log_target](const at::Tensor& a, const at::Tensor& b) {
    return at::kl_div(a, b, at::Reduction::Sum, log_target);
  });
}

}  // namespace riesz
