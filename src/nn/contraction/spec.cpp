// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/contraction/spec.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "riesz/comm/error.h"

namespace riesz::detail {
namespace {

bool once_each(const std::string& letters) {
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const bool letter = std::isalpha(static_cast<unsigned char>(letters[i])) != 0;
    if (!letter || letters.find(letters[i]) != i) return false;
  }
  return true;
}

}  // namespace

void check_dims(const std::string& whose, const std::string& letters, const Space& S) {
  RIESZ_CHECK(static_cast<std::size_t>(S.dims()) == letters.size(), whose, ": the operand \"", letters,
              "\" has ", letters.size(), " dims, its space has ", S.dims(), ": ", to_string(S));
}

Indices parse_indices(const std::string& spec) {
  const std::size_t comma = spec.find(',');
  const std::size_t arrow = spec.find("->");
  const std::string wanted =
      "; write it as in \"bti,oi->bto\": a letter a dim, each index in two operands or three";
  RIESZ_CHECK(comma != std::string::npos && arrow != std::string::npos && comma < arrow, "contract: \"", spec,
              "\" does not name two operands and a result", wanted);
  const Indices indices{spec.substr(0, comma), spec.substr(comma + 1, arrow - comma - 1),
                        spec.substr(arrow + 2)};
  for (const std::string& letters : indices) {
    RIESZ_CHECK(once_each(letters), "contract: the operand \"", letters, "\" of \"", spec,
                "\" has something other than letters, or one twice", wanted);
    for (const char letter : letters) {
      const auto in = std::count_if(indices.begin(), indices.end(), [&](const std::string& s) {
        return s.find(letter) != std::string::npos;
      });
      RIESZ_CHECK(
          in >= 2, "contract: the index ", letter, " of \"", spec,
          "\" stands in one operand alone; sum over it, or lay it out, by a contraction with ones first",
          wanted);
    }
  }
  return indices;
}

std::string spec_of(const Indices& indices) { return indices[0] + "," + indices[1] + "->" + indices[2]; }

Space bind(const Indices& indices, const Space& X, const Space& W, const Space& Y, const std::string& whose) {
  struct Extent {
    std::int64_t n;
    std::int64_t unit;
    const Space* space;
  };
  std::map<char, Extent> extents;
  const std::array<const Space*, 3> spaces{&X, &W, &Y};
  std::vector<std::int64_t> shape = Y.shape();
  for (std::size_t k = 0; k < 3; ++k) {
    check_dims(whose, indices[k], *spaces[k]);
    for (int dim = 0; dim < spaces[k]->dims(); ++dim) {
      const char index = indices[k][static_cast<std::size_t>(dim)];
      const std::int64_t n = spaces[k]->shape()[static_cast<std::size_t>(dim)];
      const auto [known, is_new] = extents.try_emplace(index, Extent{n, spaces[k]->unit_of(dim), spaces[k]});
      const bool fits = known->second.n == n || (k == 2 && n == Space::any);
      RIESZ_CHECK(fits && known->second.unit == spaces[k]->unit_of(dim), whose, " ", spec_of(indices),
                  ": the index ", index, " has extent ", known->second.n, " in units of ", known->second.unit,
                  " in\n  ", to_string(*known->second.space), "\nbut ", n, " in units of ",
                  spaces[k]->unit_of(dim), " in\n  ", to_string(*spaces[k]));
      if (k == 2) shape[static_cast<std::size_t>(dim)] = known->second.n;
    }
  }
  return Y.with_shape(shape);
}

}  // namespace riesz::detail
