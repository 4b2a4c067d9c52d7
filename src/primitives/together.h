// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/operator.h"

namespace riesz {

/// Applies several operators together: (x_1, x_2, …) → (A_1 x_1, A_2 x_2, …), the block-diagonal operator.
/// All messages of a step from one worker to another are packed into one. The adjoint is that of the A_i*, so
/// backward packs them too. Element types may differ. Elements are counted under the steps' names, messages
/// under "Together": for each round of a step, one to each worker that gets anything. Most steps have one
/// round. An AllReduce has two, or one if it is small and on two workers. Between hosts there may be one
/// more. A step that sends, but has no rounds (`Primitive::rounds`), sends messages of its own. Collective
/// over the workers of all partitions. @throws Error as the operators do, or unless there is one x for each.
std::vector<Vector> together(const std::vector<Operator>& operators, const std::vector<Vector>& xs);

}  // namespace riesz
