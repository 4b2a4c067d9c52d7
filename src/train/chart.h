// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/train/history.h"

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

/// What a picture shows, in whatever way it is drawn.
struct Chart {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<Curve> curves;
};

/// How a scale fits values: from the least to the greatest; between round numbers; or logarithmic if all are
/// positive and span a factor of 50 or more, else between round numbers.
enum class Fit { exact, round, wide };

/// How values lie on one axis of a picture.
class Scale {
 public:
  /// Values that are not finite are passed over.
  Scale(const std::vector<double>& values, Fit fit);

  bool logarithmic() const { return logarithmic_; }
  /// 0 at the low end, 1 at the high end.
  double place(double value) const;
  /// Round numbers inside the scale, ascending: about `count` of them, or powers of ten.
  std::vector<double> ticks(int count) const;

 private:
  double low_ = 0;
  double high_ = 1;
  bool logarithmic_ = false;
};

/// A tick's number in few characters.
std::string tick_text(double value);

/// All x, or all y, of the curves' points.
std::vector<double> all_x(const Chart& chart);
std::vector<double> all_y(const Chart& chart);

/// At most `limit` points: means of as many neighbours each. Points that are not finite are left out.
std::vector<Point> thinned(const std::vector<Point>& points, std::size_t limit);

/// The losses of a run over its steps.
Chart loss_chart(const std::string& title, const std::vector<Row>& rows);

}  // namespace riesz
