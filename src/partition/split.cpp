// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/split.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz {

Interval intersect(const Interval& a, const Interval& b) {
  const std::int64_t begin = std::clamp(b.begin, a.begin, a.end);
  return {begin, std::clamp(b.end, begin, std::max(begin, a.end))};
}

std::int64_t volume(const Box& box) {
  std::int64_t elements = 1;
  for (const Interval& interval : box) elements *= interval.size();
  return elements;
}

Split Split::balanced(std::int64_t n, int p, std::int64_t unit) {
  RIESZ_CHECK(n >= 0 && p >= 1 && unit >= 1, "Split::balanced(", n, ", ", p, ", ", unit,
              "): needs n >= 0, at least one worker and a unit of at least 1");
  RIESZ_CHECK(n % unit == 0, "Split::balanced: ", n, " is not a whole number of units of ", unit,
              "; choose a unit that divides it");
  const std::int64_t units = n / unit;
  Split split;
  std::int64_t begin = 0;
  for (int worker = 0; worker < p; ++worker) {
    const std::int64_t size = unit * (units / p + (worker < units % p ? 1 : 0));
    split.intervals_.push_back({begin, begin + size});
    begin += size;
  }
  return split;
}

Split Split::sizes(const std::vector<std::int64_t>& sizes) {
  Split split;
  std::int64_t begin = 0;
  for (const std::int64_t size : sizes) {
    RIESZ_CHECK(size >= 0, "Split::sizes: a shard of ", size, " elements; sizes are zero or more");
    split.intervals_.push_back({begin, begin + size});
    begin += size;
  }
  return split;
}

std::string to_string(const Split& split) {
  std::string text;
  for (int worker = 0; worker < split.workers(); ++worker) {
    text += (worker == 0 ? "" : "+") + std::to_string(split[worker].size());
  }
  return text;
}

}  // namespace riesz
