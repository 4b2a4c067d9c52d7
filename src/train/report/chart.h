// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/io/scale.h"
#include "riesz/train/report/history.h"

namespace riesz {

struct Point {
  double x = 0;
  double y = 0;

  bool operator==(const Point&) const = default;
};

struct Curve {
  std::string name;
  std::vector<Point> points;  ///< x ascends
};

/// A chart, drawn by `svg` or by `terminal_picture`.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
};

/// All x, or all y, of the curves' points.
std::vector<double> all_x(const Chart& chart);
std::vector<double> all_y(const Chart& chart);

/// At most `limit` points, each the mean of equally many neighbours. Points that are not finite are left out.
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t limit);

/// The losses of a run over its steps.
Chart loss_chart(const std::string& title, const std::vector<Row>& rows,
                 const std::string& loss = "loss (nats)");

}  // namespace riesz
