// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/activation.h"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>

#include "riesz/comm/error.h"

namespace riesz {

Vector gelu(const Vector& x) {
  return map("gelu", x, [](const at::Tensor& local) { return at::gelu(local, "tanh"); });
}

Vector gelu_exact(const Vector& x) {
  return map("gelu_exact", x, [](const at::Tensor& local) { return at::gelu(local, "none"); });
}

Vector relu(const Vector& x) { return map("relu", x, at::relu); }

Vector silu(const Vector& x) { return map("silu", x, at::silu); }

Vector activate(const std::string& name, const Vector& x) {
  if (name == "gelu") return gelu(x);
  if (name == "gelu_exact") return gelu_exact(x);
  if (name == "relu") return relu(x);
  RIESZ_CHECK(name == "silu", "there is no activation \"", name,
              "\"; there are gelu, gelu_exact, relu, silu");
  return silu(x);
}

}  // namespace riesz
