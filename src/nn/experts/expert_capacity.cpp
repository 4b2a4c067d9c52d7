// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/experts/expert_capacity.h"

#include <algorithm>
#include <cmath>

namespace riesz {

double expert_capacity(const GateOptions& gate, std::int64_t experts, double tokens) {
  const double share = tokens / static_cast<double>(experts);
  return std::max(static_cast<double>(gate.least_capacity),
                  std::ceil(share * gate.capacity_factor * static_cast<double>(gate.k)));
}

}  // namespace riesz
