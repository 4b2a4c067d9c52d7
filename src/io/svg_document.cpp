// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/svg_document.h"

#include <iomanip>

#include "riesz/io/escaped.h"

namespace riesz {
namespace {

std::string escaped_for_xml(const std::string& text) {
  std::string result;
  for (const char letter : printable(text)) {
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

}  // namespace

SvgDocument::SvgDocument(double width, double height) {
  out_ << std::fixed << std::setprecision(1);
  out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << width << " " << height
       << "\" width=\"" << width << "\" height=\"" << height
       << "\" font-family=\"sans-serif\" font-size=\"13\">\n"
       << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
}

void SvgDocument::text(double x, double y, const char* anchor, const std::string& content,
                       const std::string& more) {
  out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\"" << more << ">"
       << escaped_for_xml(content) << "</text>\n";
}

void SvgDocument::line(double x1, double y1, double x2, double y2, const char* colour) {
  out_ << "<line x1=\"" << x1 << "\" y1=\"" << y1 << "\" x2=\"" << x2 << "\" y2=\"" << y2 << "\" stroke=\""
       << colour << "\"/>\n";
}

void SvgDocument::polyline(const std::vector<std::pair<double, double>>& points, const char* colour) {
  out_ << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"1.5\" points=\"";
  for (const auto& [x, y] : points) out_ << x << "," << y << " ";
  out_ << "\"/>\n";
}

void SvgDocument::circle(double x, double y, double radius, const char* fill) {
  out_ << "<circle cx=\"" << x << "\" cy=\"" << y << "\" r=\"" << radius << "\" fill=\"" << fill << "\"/>\n";
}

void SvgDocument::rectangle(double x, double y, double width, double height, const char* fill, double opacity,
                            const std::string& says) {
  out_ << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width << "\" height=\"" << height
       << "\" fill=\"" << fill << "\" fill-opacity=\"" << opacity << "\" stroke=\"white\"><title>"
       << escaped_for_xml(says) << "</title></rect>\n";
}

std::string SvgDocument::str() const { return out_.str() + "</svg>\n"; }

}  // namespace riesz
