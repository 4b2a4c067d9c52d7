// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/picture.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/io/scale.h"
#include "riesz/io/svg_document.h"

namespace riesz {
namespace {

constexpr double kWidth = 1200, kLeft = 84, kRight = 24, kTop = 48, kBottom = 66;
constexpr double kRow = 30, kBox = 24;
constexpr double kDigit = 7.5;  // a digit's width

constexpr std::array<Pass, 5> kPasses = {Pass::forward, Pass::backward, Pass::backward_inputs,
                                         Pass::backward_weights, Pass::recompute};

const char* colour_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "#3b6fb6";
    case Pass::backward:
    case Pass::backward_inputs:
      return "#d1495b";
    case Pass::backward_weights:
      return "#2a9d8f";
    default:
      return "#8d6a9f";
  }
}

class TimelinePicture {
 public:
  TimelinePicture(const Timeline& timeline, std::string title)
      : timeline_(timeline),
        title_(std::move(title)),
        time_(ends(timeline), Fit::exact),
        bottom_(kTop + kRow * static_cast<double>(timeline.rows.size())),
        out_(kWidth, bottom_ + kBottom) {}

  std::string draw() {
    out_.text(kWidth / 2, 26, "middle", title_, " font-size=\"16\"");
    for (const double tick : time_.ticks(12)) {
      out_.line(across(tick), kTop - 4, across(tick), bottom_ + 5, "#e4e4e4");
      out_.text(across(tick), bottom_ + 20, "middle", tick_text(tick));
    }
    for (std::size_t worker = 0; worker < timeline_.rows.size(); ++worker) draw_row(worker);
    draw_legend();
    return out_.str();
  }

 private:
  static std::vector<double> ends(const Timeline& timeline) {
    std::vector<double> all;
    for (const auto& row : timeline.rows) {
      for (const Timed& timed : row) all.insert(all.end(), {timed.start, timed.end});
    }
    return all;
  }

  double across(double time) const { return kLeft + time_.place(time) * (kWidth - kLeft - kRight); }

  void draw_row(std::size_t worker) {
    const double top = kTop + kRow * static_cast<double>(worker);
    out_.text(kLeft - 10, top + kBox / 2 + 4.5, "end", concat("worker ", worker));
    std::set<int> chunks;
    for (const Timed& timed : timeline_.rows[worker]) chunks.insert(timed.action.chunk);
    for (const Timed& timed : timeline_.rows[worker]) {
      const auto place = std::distance(chunks.begin(), chunks.find(timed.action.chunk));
      draw_box(timed, top, 1 - 0.55 * static_cast<double>(place) / static_cast<double>(chunks.size()));
    }
  }

  void draw_box(const Timed& timed, double top, double opacity) {
    const Pass pass = timed.action.pass;
    shown_.insert(pass);
    const double left = across(timed.start), width = across(timed.end) - left;
    out_.rectangle(left, top, width, kBox, colour_of(pass), opacity,
                   concat(to_string(timed.action), ", ", name_of(pass), ": ", tick_text(timed.start), " to ",
                          tick_text(timed.end)));
    const std::string number = std::to_string(timed.action.micro_batch);
    if (width > kDigit * static_cast<double>(number.size()) + 3)
      out_.text(left + width / 2, top + kBox / 2 + 4.5, "middle", number, " fill=\"white\"");
  }

  void draw_legend() {
    double left = kLeft;
    const double top = bottom_ + 36;
    for (const Pass pass : kPasses) {
      if (!shown_.contains(pass)) continue;
      out_.rectangle(left, top, 16, 16, colour_of(pass), 1, name_of(pass));
      out_.text(left + 22, top + 13, "start", name_of(pass));
      left += 180;
    }
  }

  const Timeline& timeline_;
  std::string title_;
  Scale time_;
  double bottom_;
  SvgDocument out_;
  std::set<Pass> shown_;
};

}  // namespace

std::string svg(const Timeline& timeline, const std::string& title) {
  return TimelinePicture(timeline, title).draw();
}

}  // namespace riesz
