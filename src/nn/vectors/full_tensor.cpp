// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/full_tensor.h"

#include <ATen/core/grad_mode.h>

#include "riesz/primitives/between.h"

namespace riesz {

at::Tensor full_tensor(const Vector& x) {
  const at::NoGradGuard guard;
  const Space& X = x.space();
  Space replicated(X.partition(), X.shape());
  for (int dim = 0; dim < X.dims(); ++dim) replicated = replicated.unit(dim, X.unit_of(dim));
  return between(X, replicated)(x).local().detach().clone();
}

}  // namespace riesz
