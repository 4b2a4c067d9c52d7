// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/moves/ends.h"

#include <algorithm>
#include <string>

#include "riesz/comm/error.h"

namespace riesz::primitives {
namespace {

std::string list(Placements placements) {
  std::string text;
  for (const Placement each :
       {Placement::Sharded, Placement::Replicated, Placement::Copied, Placement::Partial}) {
    if (placements.has(each)) text += (text.empty() ? "" : " or ") + to_string(each);
  }
  return text;
}

/// The axes of more than one worker that shard a dim, without those of `but`.
std::vector<Shard> shards_but(const Space& X, int dim, const std::vector<int>& but) {
  std::vector<Shard> kept;
  for (const Shard& shard : X.shards(dim)) {
    if (X.counts(shard.axis) && std::count(but.begin(), but.end(), shard.axis) == 0) kept.push_back(shard);
  }
  return kept;
}

/// Do the axes of `moving` come after all others on every dim?
bool minor_most(const Space& X, const std::vector<int>& moving) {
  for (int dim = 0; dim < X.dims(); ++dim) {
    const std::vector<Shard> staying = shards_but(X, dim, moving);
    const std::vector<Shard> all = shards_but(X, dim, {});
    if (!std::equal(staying.begin(), staying.end(), all.begin())) return false;
  }
  return true;
}

bool same_sharding_but(const Space& X, const Space& Y, const std::vector<int>& but) {
  if (X.partition() != Y.partition() || X.shape() != Y.shape()) return false;
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (X.unit_of(dim) != Y.unit_of(dim) || shards_but(X, dim, but) != shards_but(Y, dim, but)) return false;
  }
  return true;
}

/// Are both spaces laid out alike, the axes of `but` and those of one worker aside?
bool equivalent_but(const Space& X, const Space& Y, const std::vector<int>& but) {
  if (!same_sharding_but(X, Y, but)) return false;
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    const bool counts = (X.counts(a) || Y.counts(a)) && std::count(but.begin(), but.end(), a) == 0;
    if (counts && X.placement(a) != Y.placement(a)) return false;
  }
  return true;
}

/// Of all spaces that differ on axes of one worker only, the one where these are Replicated.
Space replicated_where_alone(Space X) {
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    if (!X.counts(a)) X = X.replicated(X.partition().axis(a).name);
  }
  return X;
}

}  // namespace

bool equivalent(const Space& X, const Space& Y) {
  return equivalent_but(X, Y, {}) || replicated_where_alone(X) == replicated_where_alone(Y);
}

bool same_sharding(const Space& X, const Space& Y) { return same_sharding_but(X, Y, {}); }

void check_ends(std::string_view name, const Space& X, const Space& Y, const std::vector<int>& axes,
                Placements from, Placements to) {
  const auto spaces = [&] { return "\n  " + to_string(X) + "\n  " + to_string(Y); };
  RIESZ_CHECK(!axes.empty(), name, ": no axis to move along, between", spaces());
  RIESZ_CHECK(X.partition() == Y.partition() && X.shape() == Y.shape(), name,
              " moves within one partition and shape, not between", spaces());
  for (const int a : axes) {
    RIESZ_CHECK(std::count(axes.begin(), axes.end(), a) == 1, name, ": axis ", X.partition().axis(a).name,
                " is given twice, between", spaces());
    RIESZ_CHECK(from.has(X.placement(a)) && to.has(Y.placement(a)), name, " on axis ",
                X.partition().axis(a).name, " goes from ", list(from), " to ", list(to), ", not between",
                spaces(), "\nbetween(X, Y) finds the move for a pair of spaces");
  }
  RIESZ_CHECK(
      equivalent_but(X, Y, axes) && minor_most(X, axes) && minor_most(Y, axes), name,
      " leaves the axes that it does not move as they are, and moves the minor-most ones, unlike between",
      spaces(), "\nbetween(X, Y) finds the moves for a pair of spaces");
}

}  // namespace riesz::primitives
