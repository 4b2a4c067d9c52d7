// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/partition/vector.h"

namespace riesz {

/// GPT-2's gelu: x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))). Point-wise. @throws Error on a Partial vector.
Vector gelu(const Vector& x);

}  // namespace riesz
