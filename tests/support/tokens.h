// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "riesz/partition/vector.h"

namespace riesz::testing {

/// Which token ids are drawn: each by the seed, a name, the step and its place alone, so that all workers
/// have them alike.
struct TokenDraws {
  std::uint64_t seed = 7;
  std::int64_t rows = 1;
  std::int64_t length = 1;
  std::int64_t vocabulary = 2;
};

/// (rows, length) of ids below the vocabulary.
at::Tensor drawn_ids(const TokenDraws& draws, int step);
/// (rows, length) of others, of which every fifth is −1: a loss leaves it out.
at::Tensor drawn_targets(const TokenDraws& draws, int step);

/// The vector that a global tensor is in X, with that tensor's extents.
Vector on(const Space& X, const at::Tensor& global);

}  // namespace riesz::testing
