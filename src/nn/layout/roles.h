// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "riesz/partition/space.h"

namespace riesz {

/// What a dim of a model is. A layout says which axes of the grid shard each.
enum class Role {
  batch,
  sequence,
  position,         ///< rows of a table of positions
  width,            ///< of the residual stream
  heads,            ///< of queries
  key_value_heads,  ///< as many as query heads, or fewer, each shared by as many of them
  inner,            ///< of an MLP
  vocabulary,
  whole,  ///< never sharded, such as the width of a head
};

/// A role and its extent; batch and sequence are of any extent, which each call decides.
struct Dim {
  Role role;
  std::int64_t extent = Space::any;
};

/// A letter for each dim of a model, so that the letters of its specs are roles:
///
///     Roles{{'b', {Role::batch}}, {'t', {Role::sequence}}, {'c', {Role::width, 48}}, {'f', {Role::inner,
///     192}}}
using Roles = std::map<char, Dim>;

/// "batch", "key_value_heads" …
std::string to_string(Role role);

}  // namespace riesz
