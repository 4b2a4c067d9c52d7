// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/sum_cells.h"

#include <iterator>
#include <set>

namespace riesz {
namespace {

/// A dim, cut at all ends of parts.
std::vector<Interval> cut(const std::vector<Route>& routes, std::size_t dim, std::int64_t extent) {
  std::set<std::int64_t> ends{0, extent};
  for (const Route& route : routes) {
    for (const Box& part : route.parts) ends.insert({part[dim].begin, part[dim].end});
  }
  std::vector<Interval> intervals;
  for (auto end = std::next(ends.begin()); end != ends.end(); ++end)
    intervals.push_back({*std::prev(end), *end});
  return intervals;
}

bool inside(const Box& place, const Box& part) {
  for (std::size_t dim = 0; dim < place.size(); ++dim) {
    if (place[dim].begin < part[dim].begin || place[dim].end > part[dim].end) return false;
  }
  return true;
}

Box relative(const Box& place, const Box& part) {
  Box box = place;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    box[dim].begin -= part[dim].begin;
    box[dim].end -= part[dim].begin;
  }
  return box;
}

}  // namespace

std::vector<SumCell> sum_cells(const std::vector<Route>& routes, const std::vector<std::int64_t>& y_shape) {
  std::vector<SumCell> cells{{}};
  for (std::size_t dim = 0; dim < y_shape.size(); ++dim) {
    const std::vector<Interval> intervals = cut(routes, dim, y_shape[dim]);
    std::vector<SumCell> longer;
    for (const SumCell& cell : cells) {
      for (const Interval& interval : intervals) {
        longer.push_back(cell);
        longer.back().place.push_back(interval);
      }
    }
    cells = std::move(longer);
  }
  for (SumCell& cell : cells) {
    for (std::size_t route = 0; route < routes.size(); ++route) {
      for (std::size_t part = 0; part < routes[route].parts.size(); ++part) {
        const Box& box = routes[route].parts[part];
        if (inside(cell.place, box)) cell.terms.push_back({route, part, relative(cell.place, box)});
      }
    }
  }
  return cells;
}

}  // namespace riesz
