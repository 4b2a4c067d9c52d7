// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/activation.h"

#include <ATen/ops/gelu.h>

namespace riesz {

Vector gelu(const Vector& x) {
  return map("gelu", x, [](const at::Tensor& local) { return at::gelu(local, "tanh"); });
}

}  // namespace riesz
