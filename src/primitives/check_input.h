// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "riesz/partition/vector.h"
#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// Checks the input of an operator; every application begins with it. If A sends something and this is one of
/// its workers, its domain's partition must be real. With RIESZ_CHECK=1 (`consistency_checks`) workers must
/// have the same x where A's domain says so. Only inputs of operators that communicate, forward or backward,
/// are compared: all workers of such an operator apply it, also in backward. Collective over the same workers
/// as a call. It makes no valid program wait for ever, whatever its order in several channels
/// (`check_alike`).
/// @throws Error as `check_real` and `check_alike` do
void check_input(const Operator& A, const at::Tensor& x);

/// The same check of an operand without gradient, such as ids, targets and masks, which may meet no operator
/// that communicates. With RIESZ_CHECK=1 workers must have the same x where its space says so. Collective
/// over its partition.
/// @throws Error as `check_alike` does
void check_operand(std::string_view what, const Vector& x);

/// With RIESZ_CHECK=1, and while gradients are recorded in a chain: checks that x is a constant on all
/// workers of its partition, or on none. Otherwise backward of some would wait for others for ever. `what`
/// names x. Collective over the partition.
/// @throws Error as `check_alike` does
void check_constancy(std::string_view what, const Vector& x);
/// The same of the input of an operator that communicates.
void check_constancy(const Operator& A, const Vector& x);

}  // namespace riesz::detail
