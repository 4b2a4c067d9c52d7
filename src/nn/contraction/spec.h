// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>

#include "riesz/partition/space.h"

namespace riesz::detail {

/// The indices of the three operands x, w and y, such as "bti,oi->bto". Each letter is a dim; no operand has
/// one twice.
using Indices = std::array<std::string, 3>;

/// @throws Error quoting the text unless it is of that form and each index stands in two operands or three.
Indices parse_indices(const std::string& spec);

/// "bti,oi->bto" again.
std::string spec_of(const Indices& indices);

/// @throws Error, on behalf of `whose`, unless S has a dim for each letter.
void check_dims(const std::string& whose, const std::string& letters, const Space& S);

/// Y with its dims of any extent bound to the dims of X and W with the same letters.
/// @throws Error on behalf of `whose` where two operands disagree in extent or unit. It names the index, both
/// extents and the spaces.
Space bind(const Indices& indices, const Space& X, const Space& W, const Space& Y,
           const std::string& whose = "contract");

}  // namespace riesz::detail
