// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/primitives/plan/routes.h"

namespace riesz {

/// A cell: a box of y whose elements are all sums of the same parts, in rank order.
struct SumCell {
  struct Term {
    std::size_t route;  ///< which of the incoming ones
    std::size_t part;
    Box box;  ///< in that part
  };

  Box box;   ///< in y
  std::vector<Term> terms;
};

/// The cells of y: y is cut wherever a part of a route begins or ends. So each element is the sum of its own
/// terms. Only their number decides how they are bracketed (`ordered_sum`).
/// @post the boxes are all of y, each element once
std::vector<SumCell> sum_cells(const std::vector<Route>& routes, const std::vector<std::int64_t>& y_shape);

}  // namespace riesz
