// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/terminal_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

namespace riesz {
namespace {

constexpr std::array<char, 3> kLetters = {'o', 'x', '+'};

/// Characters of which each is a letter, or 2 × 4 dots.
class Dots {
 public:
  Dots(int columns, int rows)
      : columns_(columns),
        rows_(rows),
        cells_(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows)) {}

  int dots_across() const { return 2 * columns_; }
  int dots_down() const { return 4 * rows_; }

  void dot(int x, int y) {
    // The bits of Unicode's Braille patterns, left and right column.
    static constexpr std::array<std::array<unsigned, 2>, 4> kBits = {{{1, 8}, {2, 16}, {4, 32}, {64, 128}}};
    cell(x, y).dots |= kBits[static_cast<std::size_t>(y % 4)][static_cast<std::size_t>(x % 2)];
  }
  void letter(int x, int y, char letter) { cell(x, y).letter = letter; }

  std::string row(int r) const {
    std::string text;
    for (int c = 0; c < columns_; ++c) {
      const Cell& cell = cells_[static_cast<std::size_t>(r * columns_ + c)];
      if (cell.letter != 0) {
        text += cell.letter;
      } else if (cell.dots == 0) {
        text += ' ';
      } else {  // U+2800 + dots in UTF-8
        text +=
            {'\xe2', static_cast<char>(0xa0 | cell.dots >> 6), static_cast<char>(0x80 | (cell.dots & 0x3f))};
      }
    }
    return text;
  }

 private:
  struct Cell {
    unsigned dots = 0;
    char letter = 0;
  };

  Cell& cell(int x, int y) { return cells_[static_cast<std::size_t>(y / 4 * columns_ + x / 2)]; }

  int columns_;
  int rows_;
  std::vector<Cell> cells_;
};

int nearest(double place, int count) {
  return std::clamp(static_cast<int>(std::lround(place * (count - 1))), 0, count - 1);
}

/// Joins the points by lines, a dot for each column of dots and upright strokes between.
void draw_curve(Dots& field, const std::vector<Point>& points, const Scale& across, const Scale& up) {
  int last_x = 0, last_y = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int x = nearest(across.place(points[i].x), field.dots_across());
    const int y = nearest(1 - up.place(points[i].y), field.dots_down());
    const int steps = i == 0 ? 0 : std::max(std::abs(x - last_x), std::abs(y - last_y));
    for (int s = 0; s < steps; ++s)
      field.dot(last_x + (x - last_x) * s / steps, last_y + (y - last_y) * s / steps);
    field.dot(x, y);
    last_x = x;
    last_y = y;
  }
}

std::string padded(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ') + text;
}

/// The row each tick's label stands in; empty where there is none.
std::vector<std::string> row_labels(const Scale& up, int rows) {
  std::vector<std::string> labels(static_cast<std::size_t>(rows));
  for (const double tick : up.ticks(std::max(1, rows / 3))) {
    labels[static_cast<std::size_t>(nearest(1 - up.place(tick), 4 * rows) / 4)] = tick_text(tick);
  }
  return labels;
}

std::string bottom_labels(const Scale& across, int columns) {
  std::string line(static_cast<std::size_t>(columns), ' ');
  std::size_t free = 0;
  for (const double tick : across.ticks(std::max(1, columns / 12))) {
    const std::string label = tick_text(tick);
    const auto place = static_cast<std::size_t>(nearest(across.place(tick), columns));
    const std::size_t from = std::min(place - std::min(place, label.size() / 2), line.size() - label.size());
    if (from < free) continue;
    line.replace(from, label.size(), label);
    free = from + label.size() + 1;
  }
  return line;
}

}  // namespace

std::string terminal_picture(const Chart& chart, int columns, int rows) {
  const Scale across(all_x(chart), Fit::exact);
  const Scale up(all_y(chart), Fit::wide);
  Dots field(columns, rows);
  std::string legend;
  for (std::size_t i = 0; i < chart.curves.size(); ++i) {
    const Curve& curve = chart.curves[i];
    const char letter = kLetters[(i + kLetters.size() - 1) % kLetters.size()];
    const std::vector<Point> points = thinned(curve.points, static_cast<std::size_t>(field.dots_across()));
    if (points.empty()) continue;
    legend += i == 0 ? "  \xe2\xa0\x92 " : std::string("  ") + letter + " ";
    legend += curve.name;
    if (i == 0) draw_curve(field, points, across, up);
    for (const Point& point : i == 0 ? std::vector<Point>{} : points) {
      field.letter(nearest(across.place(point.x), field.dots_across()),
                   nearest(1 - up.place(point.y), field.dots_down()), letter);
    }
  }

  const std::vector<std::string> labels = row_labels(up, rows);
  std::size_t width = 0;
  for (const std::string& label : labels) width = std::max(width, label.size());
  std::string text =
      std::string(width + 2, ' ') + chart.y_label + (up.logarithmic() ? ", logarithmic" : "") + legend + "\n";
  for (int r = 0; r < rows; ++r) {
    const std::string& label = labels[static_cast<std::size_t>(r)];
    text += padded(label, width) + (label.empty() ? " \xe2\x94\x82" : " \xe2\x94\xa4") + field.row(r) + "\n";
  }
  text += std::string(width + 1, ' ') + "\xe2\x94\x94";
  for (int c = 0; c < columns; ++c) text += "\xe2\x94\x80";
  return text + "\n" + std::string(width + 2, ' ') + bottom_labels(across, columns) + " " + chart.x_label +
         "\n";
}

}  // namespace riesz
