// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/dropout.h"

#include <ATen/ops/mul.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/random/philox.h"
#include "riesz/nn/random/random.h"

namespace riesz {

Dropout::Dropout(std::string name, double p) : Module(std::move(name)), p_(p) {
  RIESZ_CHECK(p >= 0 && p < 1, "Dropout ", path(), ": a probability of ", p, "; it is at least 0 and below 1");
}

Vector Dropout::operator()(const Vector& x) const {
  if (!active()) return x;
  check_not_partial("dropout " + path(), x.space());
  const at::Tensor mask = dropout_mask(x.space(), philox_key(seed(), path()), static_cast<std::uint64_t>(step()), p_,
                                       x.local().options());
  return {x.space(), at::mul(x.local(), mask)};
}

std::string Dropout::describe() const { return concat("Dropout with probability ", p_); }

}  // namespace riesz
