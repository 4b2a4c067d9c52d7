// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace riesz {

/// A picture as an SVG 1.1 document. Later shapes lie over earlier ones; places are in pixels from the upper
/// left corner.
class SvgDocument {
 public:
  SvgDocument(double width, double height);

  /// `anchor`: is (x, y) the text's "start", "middle" or "end"? `more`: further attributes, each with a space
  /// before it.
  void text(double x, double y, const char* anchor, const std::string& content, const std::string& more = "");
  void line(double x1, double y1, double x2, double y2, const char* colour);
  void polyline(const std::vector<std::pair<double, double>>& points, const char* colour);
  void circle(double x, double y, double radius, const char* fill);
  /// `says`: the text that a viewer shows under the mouse.
  void rectangle(double x, double y, double width, double height, const char* fill, double opacity,
                 const std::string& says);

  /// The whole document with all that is drawn so far.
  std::string str() const;

 private:
  std::ostringstream out_;
};

}  // namespace riesz
