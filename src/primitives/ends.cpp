// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/ends.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz::primitives {
namespace {

bool among(Placement placement, const std::vector<Placement>& placements) {
  return std::find(placements.begin(), placements.end(), placement) != placements.end();
}

std::string list(const std::vector<Placement>& placements) {
  std::string text;
  for (const Placement placement : placements) text += (text.empty() ? "" : " or ") + to_string(placement);
  return text;
}

}  // namespace

void check_ends(const std::string& name, const Space& X, const Space& Y, const std::vector<int>& axes,
                const std::vector<Placement>& from, const std::vector<Placement>& to) {
  const std::string spaces = "\n  " + to_string(X) + "\n  " + to_string(Y);
  RIESZ_CHECK(!axes.empty(), name, ": no axis to move along, between", spaces);
  RIESZ_CHECK(X.partition() == Y.partition() && X.shape() == Y.shape(), name,
              " moves within one partition and shape, not between", spaces);
  for (const int a : axes) {
    RIESZ_CHECK(among(X.placement(a), from) && among(Y.placement(a), to), name, " on axis ",
                X.partition().axes()[static_cast<std::size_t>(a)].name, " goes from ", list(from), " to ", list(to),
                ", not between", spaces, "\nbetween(X, Y) finds the move for a pair of spaces");
  }
}

}  // namespace riesz::primitives
