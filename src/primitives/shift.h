// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz {

/// X whose pieces along `axis` belong to other workers: worker i of the axis holds what worker i − k held
/// (mod p).
/// @throws Error unless the axis shards a dim of X alone.
Space rotated(const Space& X, const std::string& axis, int k);

namespace primitives {

/// Shift: Sharded → the same pieces on rotated owners, along one axis. y_{i+k} = x_i.
/// Adjoint: the shift back. Cost: n_r elements in one message leave worker r, which holds n_r.
Step shift(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace primitives
}  // namespace riesz
