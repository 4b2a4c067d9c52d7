// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/window.h"

#include <algorithm>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/partition/intervals/segments.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

std::string text_of(const Window& window) {
  return "Window{kernel " + std::to_string(window.kernel) + ", stride " + std::to_string(window.stride) +
         ", dilation " + std::to_string(window.dilation) + ", padding " +
         std::to_string(window.padding_before) + " and " + std::to_string(window.padding_after) + "}";
}

/// Inputs from the first to the last of what the outputs' ends read.
std::int64_t width(const Window& window) { return window.dilation * (window.kernel - 1) + 1; }

void check_window(const Window& window) {
  RIESZ_CHECK(window.kernel >= 1 && window.stride >= 1 && window.dilation >= 1, text_of(window),
              ": kernel, stride and dilation are at least 1");
  RIESZ_CHECK(window.padding_before >= 0 && window.padding_after >= 0, text_of(window),
              ": padding is zero or more");
}

void check_outputs(const std::string& what, const Interval& outputs, std::int64_t m, std::int64_t n) {
  RIESZ_CHECK(outputs.begin >= 0 && outputs.begin <= outputs.end && outputs.end <= m, what, ": the outputs ",
              to_string(outputs), " are not inside [0,", m, "), those of an input of ", n);
}

void check_samples(const std::string& what, std::int64_t n, std::int64_t m, const Interval& outputs) {
  RIESZ_CHECK(n >= 0 && m >= 0, what, ": extents are zero or more, not ", n, " and ", m);
  check_outputs(what, outputs, m, n);
  RIESZ_CHECK(n > 0 || outputs.size() == 0, what, ": outputs of an input of no elements");
}

}  // namespace

std::int64_t output_extent(const Window& window, std::int64_t n) {
  check_window(window);
  RIESZ_CHECK(n >= 0, "output_extent: an input of ", n, " elements");
  const std::int64_t room = n + window.padding_before + window.padding_after - width(window);
  return room < 0 ? 0 : room / window.stride + 1;
}

Interval reach(const Window& window, const Interval& outputs) {
  check_window(window);
  if (outputs.size() <= 0) return {};
  const std::int64_t first = window.stride * outputs.begin - window.padding_before;
  return {first, first + window.stride * (outputs.size() - 1) + width(window)};
}

Need needed(const Window& window, std::int64_t n, const Interval& outputs) {
  check_outputs("needed for " + text_of(window), outputs, output_extent(window, n), n);
  const Interval all = reach(window, outputs);
  return {intersect({0, n}, all), std::max<std::int64_t>(0, std::min<std::int64_t>(0, all.end) - all.begin),
          std::max<std::int64_t>(0, all.end - std::max(n, all.begin))};
}

std::int64_t nearest_input(std::int64_t n, std::int64_t m, std::int64_t output) { return output * n / m; }

std::int64_t linear_input(std::int64_t n, std::int64_t m, std::int64_t output, bool align_corners) {
  if (align_corners) return m == 1 ? 0 : output * (n - 1) / (m - 1);
  return std::max<std::int64_t>(0, (2 * output + 1) * n - m) / (2 * m);
}

Interval needed_nearest(std::int64_t n, std::int64_t m, const Interval& outputs) {
  check_samples("needed_nearest", n, m, outputs);
  if (outputs.size() == 0) return {};
  return {nearest_input(n, m, outputs.begin), nearest_input(n, m, outputs.end - 1) + 1};
}

Interval needed_linear(std::int64_t n, std::int64_t m, const Interval& outputs, bool align_corners) {
  check_samples("needed_linear", n, m, outputs);
  if (outputs.size() == 0) return {};
  return {linear_input(n, m, outputs.begin, align_corners),
          std::min(n, linear_input(n, m, outputs.end - 1, align_corners) + 2)};
}

Intervals periodic(std::int64_t n, const Interval& interval) {
  RIESZ_CHECK(n > 0 || interval.size() == 0, "periodic: ", to_string(interval), " of a dim of no elements");
  Intervals wrapped;
  for (std::int64_t at = interval.begin; at < interval.end;) {
    const std::int64_t begin = (at % n + n) % n;
    wrapped.push_back({begin, std::min(n, begin + interval.end - at)});
    at += wrapped.back().size();
  }
  return wrapped;
}

Space covering(const Space& X, int dim, const std::vector<Intervals>& needs) {
  RIESZ_CHECK(dim >= 0 && dim < X.dims() && X.concrete(), "covering: dim ", dim, " of ", to_string(X));
  RIESZ_CHECK(X.shards(dim).size() == 1, "covering: dim ", dim, " of ", to_string(X), " is sharded by ",
              X.shards(dim).size(), " axes; splits that overlap shard their dim alone, by one axis");
  const Axis& axis = X.partition().axis(X.shards(dim).front().axis);
  RIESZ_CHECK(static_cast<int>(needs.size()) == axis.extent, "covering: ", needs.size(),
              " workers' needs, but axis ", axis.name, " of ", to_string(X), " has ", axis.extent);
  const std::int64_t n = X.shape()[static_cast<std::size_t>(dim)];
  Intervals all;
  for (const Intervals& need : needs) all.insert(all.end(), need.begin(), need.end());
  const Segments gaps = detail::subtract({{{0, n}, 0}}, all);  // what nobody needs
  const Split owners = split_of(X, dim);
  std::vector<Intervals> held = needs;
  for (int worker = 0; worker < owners.workers() && !gaps.empty(); ++worker) {
    for (const Segment& own : owners.owned(worker)) {
      for (const Segment& gap : gaps) {
        const Interval kept = intersect(own.global, gap.global);
        if (kept.size() > 0) held[static_cast<std::size_t>(worker)].push_back(kept);
      }
    }
  }
  return X.replicated(axis.name).sharded(dim, axis.name, Split::covering(n, held));
}

}  // namespace riesz
