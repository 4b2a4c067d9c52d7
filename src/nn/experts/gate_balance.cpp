// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/gate_balance.h"

#include <ATen/ops/zeros.h>

#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/nn/vectors/reduce.h"

namespace riesz {

GateBalance GateBalance::none(std::int64_t experts, const Vector& x) {
  const Space E(x.space().partition(), {experts});
  const at::TensorOptions type =
      at::TensorOptions(accumulation_type(x.local().scalar_type())).device(x.local().device());
  const Vector zeros(E, at::zeros(E.local_shape(), type), /*constant=*/true);
  return {zeros, zeros};
}

GateBalance GateBalance::operator+(const Routing& routing) const {
  return {probability + routing.probability, load + routing.load};
}

Vector GateBalance::loss(std::int64_t gates, std::int64_t k) const {
  const auto experts = static_cast<double>(load.space().shape().front()), n = static_cast<double>(gates);
  return (experts * static_cast<double>(k) / (n * n)) * sum(probability * load);
}

}  // namespace riesz
