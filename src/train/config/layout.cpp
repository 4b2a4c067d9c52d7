// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/layout.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

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

/// Greatest first.
std::set<std::int64_t, std::greater<>> divisors(std::int64_t n) {
  std::set<std::int64_t, std::greater<>> all;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d == 0) all.insert({d, n / d});
  }
  return all;
}

/// Do tp of the ranks make this tensor layout, and not by name only?
bool makes(const std::string& tensor, std::int64_t tp, std::int64_t ranks) {
  return tensor_axes(tensor, tp) && (tp > 1 || tensor == "1d" || ranks == 1);
}

/// Such as `layout.tp = 2`.
template <class Value>
std::string setting(const char* what, const Value& value) {
  return concat("layout.", what, " = ", value);
}

/// Are the workers of layout.ep a part of those that share each layer?
bool is_part_of_tp(const Config::Layout& layout) { return layout.ep > 1 && layout.experts == "tp"; }

/// Nothing where it is more than `most`.
std::optional<std::int64_t> product(const std::vector<std::int64_t>& extents, std::int64_t most) {
  std::int64_t all = 1;
  for (const std::int64_t extent : extents) {
    if (extent > most / all) return std::nullopt;
    all *= extent;
  }
  return all;
}

/// Do several workers share an image?
bool shares_space(const Config::Layout& layout) {
  return std::any_of(layout.space.begin(), layout.space.end(), [](std::int64_t n) { return n > 1; });
}

/// Such as "[2, 2]".
std::string space_text(const Config::Layout& layout) { return concat(at::IntArrayRef(layout.space)); }

/// The settings of the first few layouts.
std::string text_of(const std::vector<Config::Layout>& layouts, bool with_sp) {
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, layouts.size()); ++i) {
    text += concat(i > 0 ? ", or " : "", setting("dp", layouts[i].dp), ", ");
    if (with_sp) text += setting("sp", layouts[i].sp) + ", ";
    text += setting("tp", layouts[i].tp);
  }
  return text + (layouts.size() > kShown ? " …" : "");
}

}  // namespace

std::vector<Config::Layout> layouts_on(std::int64_t ranks, const std::string& tensor,
                                       const std::string& sequence) {
  std::vector<Config::Layout> all;
  for (const std::int64_t tp : divisors(ranks)) {
    if (!makes(tensor, tp, ranks)) continue;
    for (const std::int64_t sp : divisors(ranks / tp)) {
      if (ranks > 1 && (sp > 1) != (sequence != "none")) continue;
      all.push_back({.dp = ranks / tp / sp, .tp = tp, .sp = sp, .tensor = tensor, .sequence = sequence});
    }
  }
  return all;
}

std::string product_of(const Config::Layout& layout) {
  const bool stages = layout.pp > 1, experts = layout.ep > 1, space = shares_space(layout);
  return concat(stages ? "layout.pp x " : "", "layout.dp x ", experts ? "layout.ep x " : "",
                space ? "layout.space x " : "",
                "layout.sp x layout.tp = ", stages ? concat(layout.pp, " x ") : "", layout.dp, " x ",
                experts ? concat(layout.ep, " x ") : "", space ? space_text(layout) + " x " : "", layout.sp,
                " x ", layout.tp);
}

std::optional<std::int64_t> job_size(const Config::Layout& layout, std::int64_t most) {
  std::vector<std::int64_t> extents{layout.pp, layout.dp, layout.ep, layout.sp, layout.tp};
  extents.insert(extents.end(), layout.space.begin(), layout.space.end());
  return product(extents, most);
}

std::optional<std::int64_t> space_size(const Config::Layout& layout, std::int64_t most) {
  return product(layout.space, most);
}

std::string possible_layouts(std::int64_t ranks, const Config::Layout& wanted) {
  std::string where = concat("on ", ranks, ranks == 1 ? " rank" : " ranks");
  std::int64_t of_stage = ranks;
  const char* with_one = " with ";
  for (const auto& [axis, extent] : {std::pair("pp", wanted.pp), std::pair("ep", wanted.ep)}) {
    if (of_stage % extent != 0) {
      std::string fitting;
      for (const std::int64_t d : divisors(of_stage)) fitting += concat(fitting.empty() ? "" : " or ", d);
      return concat(where, ": ", setting(axis, fitting), ", times layout.dp and others to make ", of_stage);
    }
    of_stage /= extent;
    if (extent > 1) where += std::exchange(with_one, " and ") + setting(axis, extent);
  }
  if (shares_space(wanted)) {
    const std::int64_t sharers = space_size(wanted, ranks).value_or(ranks + 1);
    if (of_stage % sharers != 0)
      return concat(where, ": layout.space = ", space_text(wanted), " does not fit");
    of_stage /= sharers;
    where += concat(with_one, "layout.space = ", space_text(wanted));
  }
  const bool shared = wanted.sequence != "none";
  const auto fitting = layouts_on(of_stage, wanted.tensor, wanted.sequence);
  if (!fitting.empty()) return concat(where, ": ", text_of(fitting, shared || wanted.sp != 1));
  std::string others;
  for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
    if (layouts_on(of_stage, tensor, wanted.sequence).empty()) continue;
    others += concat(others.empty() ? "" : ", ", '"', tensor, '"');
  }
  const std::string sequence = shared ? concat(" with layout.sequence = \"", wanted.sequence, '"') : "";
  return concat(where, " there is no \"", wanted.tensor, '"', sequence, ", but ", others);
}

std::vector<Axis> layout_axes(const Config::Layout& layout) {
  const auto possible = [&] {
    return possible_layouts(*job_size(layout, std::numeric_limits<std::int64_t>::max()), layout);
  };
  RIESZ_CHECK(
      layout.sp == 1 || layout.sequence != "none", "layout.sp = ", layout.sp,
      " workers share each sequence, but layout.sequence = \"none\" leaves it whole; set it to \"ring\" or "
      "\"ulysses\", or layout.sp to 1; ",
      possible());
  const bool alone = layout.dp == 1 && layout.ep == 1 && layout.tp == 1 && !shares_space(layout);
  RIESZ_CHECK(layout.sp > 1 || layout.sequence == "none" || alone, "layout.sequence = \"", layout.sequence,
              "\" shares each sequence among layout.sp workers, but layout.sp = 1 leaves it whole; set "
              "layout.sequence to \"none\", or layout.sp above 1; ",
              possible());
  const auto tensor = tensor_axes(layout.tensor, layout.tp);
  RIESZ_CHECK(tensor.has_value(), "layout.tensor = \"", layout.tensor, "\" needs layout.tp workers that are ",
              needs(layout.tensor), ", not ", layout.tp, "; ", possible());
  const bool in_tp = is_part_of_tp(layout);
  RIESZ_CHECK(!in_tp || layout.tensor == "1d" || layout.tensor == "sp",
              "layout.experts = \"tp\" makes layout.ep a part of the axis tp, which layout.tensor = \"",
              layout.tensor,
              "\" does not have; set layout.tensor to \"1d\" or \"sp\", or layout.experts to "
              "\"dp\"");
  const Axis experts{"ep", static_cast<int>(layout.ep)};
  std::vector<Axis> axes{{"dp", static_cast<int>(layout.dp)}};
  if (layout.ep > 1 && !in_tp) axes.push_back(experts);
  if (shares_space(layout)) {
    RIESZ_CHECK(
        layout.space.size() == 2, "layout.space = ", space_text(layout), " has ", layout.space.size(),
        " numbers; it has one of workers along the height of an image, and one along its width, such as "
        "[2, 2]");
    axes.push_back({"height", static_cast<int>(layout.space[0])});
    axes.push_back({"width", static_cast<int>(layout.space[1])});
  }
  if (layout.sequence != "none") axes.push_back({"sp", static_cast<int>(layout.sp)});
  axes.insert(axes.end(), tensor->begin(), tensor->end());
  if (in_tp) axes.push_back(experts);
  return axes;
}

std::vector<std::string> token_axes(const Config::Layout& layout, const Partition& mesh) {
  std::vector<std::string> axes;
  for (const char* axis : {"dp", "ep", "height", "width", "sp"}) {
    const bool shares_layers = std::string_view(axis) == "ep" && is_part_of_tp(layout);
    if (mesh.find(axis) >= 0 && !shares_layers) axes.emplace_back(axis);
  }
  return axes;
}

Layout layout_on(const Config::Layout& layout, const Partition& stage) {
  Layout made = spaces::named(layout.tensor, layout.sequence, stage);
  return layout.ep > 1 ? spaces::with_experts(std::move(made), layout.experts) : made;
}

std::vector<Axis> job_axes(const Config::Layout& layout) {
  std::vector<Axis> axes = layout_axes(layout);
  if (layout.pp > 1) axes.insert(axes.begin(), {"pp", static_cast<int>(layout.pp)});
  return axes;
}

}  // namespace riesz
