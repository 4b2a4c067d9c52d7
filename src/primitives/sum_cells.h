// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/primitives/routes.h"

namespace riesz {

/// A box of y to whose elements the same parts are terms, in rank order.
struct SumCell {
  struct Term {
    std::size_t route;  ///< which of the incoming ones
    std::size_t part;
    Box box;  ///< in that part
  };

  Box place;  ///< in y
  std::vector<Term> terms;
};

/// y, cut wherever a part of a route begins or ends. So each element is the sum of its own terms, in an order
/// that depends on how many they are and on nothing else. @post the places are all of y, each element once
std::vector<SumCell> sum_cells(const std::vector<Route>& routes, const std::vector<std::int64_t>& y_shape);

}  // namespace riesz
