// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::detail {

/// Which of its rows a worker selects, in order. A row may be selected several times, or never.
struct SelectedRows {
  at::Tensor rows;     ///< by selected row: its number in x
  at::Tensor places;   ///< by row of x, one after another: where it was selected to
  at::Tensor offsets;  ///< by row of x: where its places begin in `places`
  std::uint64_t digest = 0;
};

/// The selection of these rows of x's `n`. `order` is a permutation of the selected rows' numbers, in which
/// the rows of x come in turn: the order in which the adjoint adds. The numbers lie on `device`.
SelectedRows selected_rows(std::int64_t n, const std::vector<std::int64_t>& rows,
                           const std::vector<std::int64_t>& order, at::Device device);

/// SelectRows: y_s = x[rows_s], on each worker for itself. `axis` shards dim 0 of X and of S in any splits.
/// Adjoint: x̄[n] = Σ ȳ_s over the s with rows_s = n, half types in fp32. Cost: 0 elements, 0 messages.
Step select_rows(const Space& X, const Space& S, const std::string& axis, SelectedRows selected);

}  // namespace riesz::detail
