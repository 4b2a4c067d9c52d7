// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace riesz {

std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  std::string nearest;
  std::size_t least = (word.size() + 2) / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t far = distance_of(word, name);
    if (far < least) {
      nearest = name;
      least = far;
    }
  }
  return nearest;
}

}  // namespace riesz
