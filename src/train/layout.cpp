// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/layout.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

/// The greatest q for which q^power divides n, leaving at least `least`.
std::int64_t root(std::int64_t n, int power, std::int64_t least) {
  std::int64_t best = 1;
  for (std::int64_t q = 2; q * q <= n; ++q) {
    std::int64_t whole = 1;
    for (int i = 0; i < power; ++i) whole *= q;
    if (n % whole == 0 && n / whole >= least) best = q;
  }
  return best;
}

/// The axes that a tensor layout makes of tp workers, or nothing where it cannot.
std::optional<std::vector<Axis>> tensor_axes(const std::string& tensor, std::int64_t tp) {
  const auto extent = [](std::int64_t n) { return static_cast<int>(n); };
  if (tensor == "1d" || tensor == "sp") return std::vector<Axis>{{"tp", extent(tp)}};
  if (tensor == "2d") {
    std::int64_t rows = 1;
    for (std::int64_t q = 2; q * q <= tp; ++q) rows = tp % q == 0 ? q : rows;
    if (tp > 1 && rows == 1) return std::nullopt;
    return std::vector<Axis>{{"row", extent(rows)}, {"column", extent(tp / rows)}};
  }
  if (tensor == "2.5d") {
    const std::int64_t q = root(tp, 2, 2);
    if (tp > 1 && q == 1) return std::nullopt;
    return std::vector<Axis>{{"depth", extent(tp / (q * q))}, {"row", extent(q)}, {"column", extent(q)}};
  }
  const std::int64_t q = root(tp, 3, 1);
  if (q * q * q != tp) return std::nullopt;
  return std::vector<Axis>{{"a", extent(q)}, {"b", extent(q)}, {"c", extent(q)}};
}

const char* needs(const std::string& tensor) {
  if (tensor == "2d") return "rows x columns, both above 1: 4, 6, 8, 9 …";
  if (tensor == "2.5d") return "depth x rows x rows, depth and rows above 1: 8, 12, 16, 18 …";
  return "a cube: 8, 27 …";
}

std::string possible(std::int64_t tp) {
  std::string kinds;
  for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
    if (tensor_axes(tensor, tp)) kinds += (kinds.empty() ? "\"" : ", \"") + std::string(tensor) + "\"";
  }
  return kinds;
}

}  // namespace

std::vector<Axis> layout_axes(const Config::Layout& layout) {
  RIESZ_CHECK(
      layout.sp == 1 || layout.sequence != "none", "layout.sp = ", layout.sp,
      " workers share each sequence, but "
      "layout.sequence = \"none\" leaves it whole; set it to \"ring\" or \"ulysses\", or layout.sp to 1");
  const auto tensor = tensor_axes(layout.tensor, layout.tp);
  RIESZ_CHECK(tensor.has_value(), "layout.tensor = \"", layout.tensor, "\" needs layout.tp workers that are ",
              needs(layout.tensor), ", not ", layout.tp, "; with ", layout.tp, " there are ",
              possible(layout.tp));
  std::vector<Axis> axes{{"dp", static_cast<int>(layout.dp)}};
  if (layout.sequence != "none") axes.push_back({"sp", static_cast<int>(layout.sp)});
  axes.insert(axes.end(), tensor->begin(), tensor->end());
  return axes;
}

}  // namespace riesz
