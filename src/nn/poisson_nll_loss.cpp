// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/poisson_nll_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/poisson_nll_loss.h>

namespace riesz {

Loss poisson_nll_loss(const Vector& x, const Vector& y, const PoissonNllOptions& options) {
  return element_loss("poisson_nll_loss", x, y, [&options](const at::Tensor& a, const at::Tensor& b) {
    return at::poisson_nll_loss(a, b, options.log_input, options.full, options.epsilon, at::Reduction::Sum);
  });
}

}  // namespace riesz
