// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "riesz/partition/vector.h"

namespace riesz::testing {

/// The part that the worker of `rank` holds of a random element of X: normal numbers, none zero, a function
/// of (seed, rank) alone, so every worker knows every part without communication. Replicated parts are equal,
/// Sharded and Partial ones arbitrary, Copied ones and those where splits overlap equal (as always in use) or
/// arbitrary. The two parts of complex numbers are two such elements.
at::Tensor random_part(const Space& X, int rank, std::uint64_t seed, bool equal_copies,
                       at::ScalarType type = at::kDouble);

/// All parts, by rank. Local.
std::vector<at::Tensor> random_parts(const Space& X, std::uint64_t seed, bool equal_copies,
                                     at::ScalarType type = at::kDouble);

/// The element of those parts. Local.
Vector random_vector(const Space& X, std::uint64_t seed, bool equal_copies = false,
                     at::ScalarType type = at::kDouble);

/// This worker's part of a vector given by all parts; zero-volume outside the partition. Local.
Vector part_of(const Space& X, const std::vector<at::Tensor>& parts);

}  // namespace riesz::testing
