// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/partition/space.h"

namespace riesz::primitives {

/// Are the spaces equal, axes of one worker aside? Their vectors have the same parts then.
bool alike(const Space& X, const Space& Y);

/// Do the same axes shard the same dims in the same way, axes of one worker aside?
bool sharded_alike(const Space& X, const Space& Y);

/// @throws Error naming both spaces unless they are on one partition, of one shape; each axis is given once;
/// on every one of `axes` the domain is placed as one of `from` and the range as one of `to`; and these axes
/// are the minor-most of the dims that they shard, while the other axes stay as they are.
void check_ends(const std::string& name, const Space& X, const Space& Y, const std::vector<int>& axes,
                const std::vector<Placement>& from, const std::vector<Placement>& to);

}  // namespace riesz::primitives
