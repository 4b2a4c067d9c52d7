// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/svg.h"

#include <array>
#include <iomanip>
#include <sstream>

namespace riesz {
namespace {

constexpr double kWidth = 760, kHeight = 440;
constexpr double kLeft = 76, kRight = 24, kTop = 48, kBottom = 56;
constexpr std::size_t kPoints = 1000;  // of a curve
constexpr std::size_t kDots = 60;      // a curve of no more points has dots
constexpr std::array<const char*, 4> kColours = {"#3b6fb6", "#d1495b", "#2a9d8f", "#8d6a9f"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

/// Draws one chart into a document.
class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart), x_(all_x(chart), Fit::exact), y_(all_y(chart), Fit::wide) {
    out_ << std::fixed << std::setprecision(1);
  }

  std::string draw() {
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << " " << kHeight
         << "\" width=\"" << kWidth << "\" height=\"" << kHeight
         << "\" font-family=\"sans-serif\" font-size=\"13\">\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    text(kWidth / 2, 26, "middle", chart_.title, " font-size=\"16\"");
    draw_axes();
    for (std::size_t i = 0; i < chart_.curves.size(); ++i)
      draw_curve(chart_.curves[i], kColours[i % kColours.size()], i);
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  double across(double x) const { return kLeft + x_.place(x) * (kWidth - kLeft - kRight); }
  double down(double y) const { return kHeight - kBottom - y_.place(y) * (kHeight - kTop - kBottom); }

  void text(double x, double y, const char* anchor, const std::string& content,
            const std::string& more = "") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\"" << more << ">"
         << escaped(content) << "</text>\n";
  }

  void line(double x1, double y1, double x2, double y2, const char* colour) {
    out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" stroke=\""
         << colour << "\"/>\n";
  }

  void draw_axes() {
    const double bottom = kHeight - kBottom, right = kWidth - kRight;
    for (const double tick : x_.ticks(8)) {
      line(across(tick), kTop, across(tick), bottom + 5, "#e4e4e4");
      text(across(tick), bottom + 20, "middle", tick_text(tick));
    }
    for (const double tick : y_.ticks(5)) {
      line(kLeft - 5, down(tick), right, down(tick), "#e4e4e4");
      text(kLeft - 9, down(tick) + 4.5, "end", tick_text(tick));
    }
    line(kLeft, bottom, right, bottom, "#444");
    line(kLeft, kTop, kLeft, bottom, "#444");
    text((kLeft + right) / 2, kHeight - 14, "middle", chart_.x_label);
    const double middle = (kTop + bottom) / 2;
    std::ostringstream turned;
    turned << " transform=\"rotate(-90 18 " << middle << ")\"";
    text(18, middle, "middle", chart_.y_label + (y_.logarithmic() ? ", logarithmic" : ""), turned.str());
  }

  void draw_curve(const Curve& curve, const char* colour, std::size_t index) {
    const std::vector<Point> points = thinned(curve.points, kPoints);
    if (points.empty()) return;
    out_ << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"1.5\" points=\"";
    for (const Point& point : points) out_ << across(point.x) << "," << down(point.y) << " ";
    out_ << "\"/>\n";
    if (points.size() <= kDots) {
      for (const Point& point : points) {
        out_ << "<circle cx=\"" << across(point.x) << "\" cy=\"" << down(point.y) << "\" r=\"2.5\" fill=\""
             << colour << "\"/>\n";
      }
    }
    const double legend = kTop + 14 + 20 * static_cast<double>(index);
    line(kWidth - kRight - 110, legend - 4, kWidth - kRight - 86, legend - 4, colour);
    text(kWidth - kRight - 78, legend, "start", curve.name);
  }

  const Chart& chart_;
  Scale x_;
  Scale y_;
  std::ostringstream out_;
};

}  // namespace

std::string svg(const Chart& chart) { return Drawing(chart).draw(); }

}  // namespace riesz
