// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

namespace riesz::testing {

/// A value of each factor, by its number.
using Choice = std::vector<int>;

/// All choices of factors with so many values each, in ascending order, as far as `allowed` allows them.
std::vector<Choice> all_choices(const std::vector<int>& values,
                                const std::function<bool(const Choice&)>& allowed = {});

/// Some of the given choices, in which every two values of two factors stand together that do so in any of
/// the given: each next one is the first of those that bring the most new pairs for their cost. Not always
/// the fewest there can be, but the same for the same choices. Without `cost` all cost the same.
std::vector<Choice> covering_pairs(const std::vector<Choice>& choices,
                                   const std::function<double(const Choice&)>& cost = {});

}  // namespace riesz::testing
