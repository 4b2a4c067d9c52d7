// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/vector.h"
#include "riesz/primitives/operator.h"

namespace riesz::detail {

/// The beginning of every application. Where A sends something, are its workers real, if this is one of them?
/// And where workers compare (`checks`), have they x alike where A's domain says so? Only of operators that
/// communicate in one direction or the other: those all workers apply in one order, also in backward. As
/// collective as a call.
/// @throws Error as `check_real` and `check_alike` do
void check_input(const Operator& A, const at::Tensor& x);

/// What has no gradient and so may meet no operator that communicates, such as ids, targets and masks: where
/// workers compare, have they x alike where its space says so? Collective over its partition.
/// @throws Error as `check_alike` does
void check_operand(const std::string& what, const Vector& x);

}  // namespace riesz::detail
