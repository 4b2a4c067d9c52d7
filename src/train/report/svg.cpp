// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/svg.h"

#include <array>
#include <sstream>
#include <utility>
#include <vector>

#include "riesz/io/svg_document.h"

namespace riesz {
namespace {

constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 76, kRight = 24, kTop = 48, kBottom = 56;
constexpr std::size_t kPoints = 1000;  // of a curve
constexpr std::size_t kDots = 60;      // a curve of no more points has dots
constexpr std::array<const char*, 4> kColours = {"#3b6fb6", "#d1495b", "#2a9d8f", "#8d6a9f"};

/// Draws one chart into a document.
class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), x_(all_x(chart), Fit::exact), y_(all_y(chart), Fit::wide) {}

  std::string draw() {
    out_.text(kWidth / 2, 26, "middle", chart_.title, " font-size=\"16\"");
    draw_axes();
    for (std::size_t i = 0; i < chart_.curves.size(); ++i)
      draw_curve(chart_.curves[i], kColours[i % kColours.size()], i);
    return out_.str();
  }

 private:
  double across(double x) const { return kLeft + x_.place(x) * (kWidth - kLeft - kRight); }
  double down(double y) const { return kHeight - kBottom - y_.place(y) * (kHeight - kTop - kBottom); }

  void draw_axes() {
    const double bottom = kHeight - kBottom, right = kWidth - kRight;
    for (const double tick : x_.ticks(8)) {
      out_.line(across(tick), kTop, across(tick), bottom + 5, "#e4e4e4");
      out_.text(across(tick), bottom + 20, "middle", tick_text(tick));
    }
    for (const double tick : y_.ticks(5)) {
      out_.line(kLeft - 5, down(tick), right, down(tick), "#e4e4e4");
      out_.text(kLeft - 9, down(tick) + 4.5, "end", tick_text(tick));
    }
    out_.line(kLeft, bottom, right, bottom, "#444");
    out_.line(kLeft, kTop, kLeft, bottom, "#444");
    out_.text((kLeft + right) / 2, kHeight - 14, "middle", chart_.x_label);
    const double middle = (kTop + bottom) / 2;
    std::ostringstream turned;
    turned << " transform=\"rotate(-90 18 " << middle << ")\"";
    out_.text(18, middle, "middle", chart_.y_label + (y_.logarithmic() ? ", logarithmic" : ""), turned.str());
  }

  void draw_curve(const Curve& curve, const char* colour, std::size_t index) {
    const std::vector<Point> points = thinned(curve.points, kPoints);
    if (points.empty()) return;
    std::vector<std::pair<double, double>> places;
    for (const Point& point : points) places.emplace_back(across(point.x), down(point.y));
    out_.polyline(places, colour);
    if (points.size() <= kDots) {
      for (const auto& [x, y] : places) out_.circle(x, y, 2.5, colour);
    }
    const double legend = kTop + 14 + 20 * static_cast<double>(index);
    out_.line(kWidth - kRight - 110, legend - 4, kWidth - kRight - 86, legend - 4, colour);
    out_.text(kWidth - kRight - 78, legend, "start", curve.name);
  }

  const Chart& chart_;
  Scale x_;
  Scale y_;
  SvgDocument out_{kWidth, kHeight};
};

}  // namespace

std::string svg(const Chart& chart) { return Drawing(chart).draw(); }

}  // namespace riesz
