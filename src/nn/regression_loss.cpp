// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/regression_loss.h"

#include <ATen/core/Reduction.h>
#include <ATen/ops/l1_loss.h>
#include <ATen/ops/mse_loss.h>

namespace riesz {

Loss l1_loss(const Vector& x, const Vector& y) {
  return element_loss("l1_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::l1_loss(a, b, at::Reduction::Sum);
  });
}

Loss mse_loss(const Vector& x, const Vector& y) {
  return element_loss("mse_loss", x, y, [](const at::Tensor& a, const at::Tensor& b) {
    return at::mse_loss(a, b, at::Reduction::Sum);
  });
}

}  // namespace riesz
