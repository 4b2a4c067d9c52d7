// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/sum_cells.h"

#include <algorithm>

namespace riesz {
namespace {

/// Where a dim is cut: at all ends of parts.
std::vector<std::int64_t> ends_of(const std::vector<Route>& routes, std::size_t dim, std::int64_t extent) {
  std::vector<std::int64_t> ends{0, extent};
  for (const Route& route : routes) {
    for (const Box& part : route.parts) ends.insert(ends.end(), {part[dim].begin, part[dim].end});
  }
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  return ends;
}

Box relative(const Box& place, const Box& part) {
  Box box = place;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    box[dim].begin -= part[dim].begin;
    box[dim].end -= part[dim].begin;
  }
  return box;
}

/// y's dims where they are cut; its cells are numbered row by row.
using Ends = std::vector<std::vector<std::int64_t>>;

/// Calls f(number) of each cell inside a box that begins and ends at cuts; `number` is of the dims before.
template <typename Function>
void each_inside(const Ends& ends, const Box& box, std::size_t dim, std::size_t number, const Function& f) {
  if (dim == ends.size()) return f(number);
  const auto cut = [&](std::int64_t end) {
    return std::lower_bound(ends[dim].begin(), ends[dim].end(), end) - ends[dim].begin();
  };
  const std::size_t count = ends[dim].size() - 1;
  const auto last = static_cast<std::size_t>(cut(box[dim].end));
  for (auto i = static_cast<std::size_t>(cut(box[dim].begin)); i < last; ++i)
    each_inside(ends, box, dim + 1, number * count + i, f);
}

}  // namespace

std::vector<SumCell> sum_cells(const std::vector<Route>& routes, const std::vector<std::int64_t>& y_shape) {
  std::vector<SumCell> cells{{}};
  Ends ends;
  for (std::size_t dim = 0; dim < y_shape.size(); ++dim) {
    ends.push_back(ends_of(routes, dim, y_shape[dim]));
    std::vector<SumCell> longer;
    for (const SumCell& cell : cells) {
      for (std::size_t i = 0; i + 1 < ends[dim].size(); ++i) {
        longer.push_back(cell);
        longer.back().box.push_back({ends[dim][i], ends[dim][i + 1]});
      }
    }
    cells = std::move(longer);
  }
  for (std::size_t route = 0; route < routes.size(); ++route) {
    for (std::size_t part = 0; part < routes[route].parts.size(); ++part) {
      const Box& box = routes[route].parts[part];
      each_inside(ends, box, 0, 0, [&](std::size_t number) {
        SumCell& cell = cells[number];
        cell.terms.push_back({route, part, relative(cell.box, box)});
      });
    }
  }
  return cells;
}

}  // namespace riesz
