// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Every primitive and its adjoint, in several types, with uneven pieces and with empty ones; and layers,
// attention and losses.
#include "operators.h"

#include <c10/core/ScalarType.h>

#include <utility>

#include "cases.h"
#include "layer_runs.h"
#include "riesz/comm/error.h"
#include "riesz/comm/late_checks.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// Data that moves has the same bits, and sums have the CPU's order.
Outcome called_there(const Operator& A, at::ScalarType type) {
  const Vector x = random_vector(A.domain(), 1, true, type);
  const Vector ybar = random_vector(dual(A.range()), 2, true, type);
  const std::vector<at::Tensor> here = called(A, x, ybar), far = called(A, there(x), there(ybar));
  for (std::size_t i = 0; i < here.size(); ++i) {
    const at::Tensor back = far[i].cpu();
    if (!same_bits(back, here[i]))
      return {concat("tensor ", i, " is ", text_of(back), ", not ", text_of(here[i]))};
  }
  return {};
}

}  // namespace

std::vector<Case> operator_cases() {
  std::vector<Case> all;
  for (const auto& [n, m] : {std::pair(5, 7), {1, 3}, {16, 8}}) {
    for (const at::ScalarType type :
         {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf, at::kComplexDouble}) {
      for (const Operator& A : operators(n, m))
        all.push_back({concat("operator of ", c10::toString(type), " (", n, ", ", m, "): ", to_string(A)),
                       [A, type = type] { return called_there(A, type); }});
    }
  }
  return all;
}

std::vector<Case> layer_cases() {
  std::vector<Case> all;
  for (const NamedRun& each : layer_runs())
    all.push_back({"layer " + each.name, [run = each.run]() -> Outcome {
                     const std::string differs = difference_there(run);
                     settle_late_checks();
                     return {differs};
                   }});
  return all;
}

}  // namespace riesz::testing
