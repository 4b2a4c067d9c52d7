// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz::testing {

/// One operator for each primitive and more than one way of packing, of matrices of (n, m). With fewer rows
/// than workers some pieces are empty.
std::vector<Operator> operators(std::int64_t n = 5, std::int64_t m = 7);

/// The value and the gradient of a call, and of one in two halves.
std::vector<at::Tensor> called(const Operator& A, const Vector& x, const Vector& ybar);

}  // namespace riesz::testing
