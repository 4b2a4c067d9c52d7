// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/chart.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace riesz {

std::vector<double> all_x(const Chart& chart) {
  std::vector<double> found;
  for (const Curve& curve : chart.curves) {
    for (const Point& point : curve.points) found.push_back(point.x);
  }
  return found;
}

std::vector<double> all_y(const Chart& chart) {
  std::vector<double> found;
  for (const Curve& curve : chart.curves) {
    for (const Point& point : curve.points) found.push_back(point.y);
  }
  return found;
}

std::vector<Point> thinned(const std::vector<Point>& points, std::size_t limit) {
  std::vector<Point> finite;
  std::copy_if(points.begin(), points.end(), std::back_inserter(finite),
               [](const Point& p) { return std::isfinite(p.x) && std::isfinite(p.y); });
  const std::size_t group = (finite.size() + limit - 1) / limit;
  if (group <= 1) return finite;
  std::vector<Point> means;
  for (std::size_t from = 0; from < finite.size(); from += group) {
    const std::size_t to = std::min(from + group, finite.size());
    Point sum;
    for (std::size_t i = from; i < to; ++i) sum = {sum.x + finite[i].x, sum.y + finite[i].y};
    const auto n = static_cast<double>(to - from);
    means.push_back({sum.x / n, sum.y / n});
  }
  return means;
}

Chart loss_chart(const std::string& title, const std::vector<Row>& rows, const std::string& loss) {
  Chart chart{title, "step", loss, {{"training", {}}, {"held out", {}}}};
  for (const Row& row : rows) {
    const auto step = static_cast<double>(row.step);
    chart.curves[0].points.push_back({step, row.loss});
    if (row.held_out_loss) chart.curves[1].points.push_back({step, *row.held_out_loss});
  }
  return chart;
}

}  // namespace riesz
