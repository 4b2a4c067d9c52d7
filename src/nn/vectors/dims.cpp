// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/dims.h"

#include <algorithm>

#include "riesz/comm/error.h"

namespace riesz::detail {

int checked_dim(const std::string& what, const Space& X, int dim) {
  const int d = dim < 0 ? dim + X.dims() : dim;
  RIESZ_CHECK(d >= 0 && d < X.dims(), what, ": there is no dim ", dim, " in ", to_string(X));
  return d;
}

std::vector<int> other_dims(const Space& X, const std::vector<int>& dims) {
  std::vector<int> others;
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) others.push_back(dim);
  }
  return others;
}

void check_no_copies(const std::string& what, const Space& X, int dim) {
  RIESZ_CHECK(!X.copies(dim), what, " over dim ", dim, ", whose split overlaps in ", to_string(X),
              ", so that elements would count twice; bring x with between(X, Y) to a space without");
}

}  // namespace riesz::detail
