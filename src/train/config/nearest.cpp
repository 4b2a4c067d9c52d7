// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace riesz {

std::size_t distance_of(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

std::string nearest_of(std::string_view word, const std::vector<std::string>& names) {
  const std::string_view letters = word.substr(std::min(word.find_first_not_of('-'), word.size()));
  const auto begun = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return letters.size() >= 2 && name.starts_with(word);
  });
  if (begun != names.end()) return *begun;
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, letters.size() / 3) + 1;
  for (const std::string& name : names) {
    const std::size_t far = distance_of(word, name);
    if (far < least && far < name.size()) {
      nearest = name;
      least = far;
    }
  }
  return nearest;
}

}  // namespace riesz
