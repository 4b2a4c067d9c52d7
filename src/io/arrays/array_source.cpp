// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/arrays/array_source.h"

namespace riesz {

void for_each_run(const std::vector<std::int64_t>& shape, const Box& box,
                  const std::function<void(std::int64_t first, std::int64_t count)>& f) {
  std::size_t outer = shape.size();  // dims before those that a run covers
  std::int64_t count = 1;
  while (outer > 0) {
    --outer;
    count *= box[outer].size();
    if (box[outer].size() != shape[outer]) break;
  }
  std::vector<std::int64_t> at;
  for (const Interval& of : box) at.push_back(of.begin);
  for (;;) {
    std::int64_t first = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim) first = first * shape[dim] + at[dim];
    f(first, count);
    std::size_t dim = outer;
    for (; dim > 0; --dim) {
      if (++at[dim - 1] < box[dim - 1].end) break;
      at[dim - 1] = box[dim - 1].begin;
    }
    if (dim == 0) return;
  }
}

}  // namespace riesz
