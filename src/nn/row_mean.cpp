// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/row_mean.h"

#include <vector>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz {

Space beside_last_dim(const std::string& layer, const Space& X) {
  const int last = X.dims() - 1;
  RIESZ_CHECK(last >= 0, layer, " normalises over the last dim, which ", to_string(X), " has not");
  RIESZ_CHECK(X.shape().back() != Space::any, layer, ": the last dim of ", to_string(X),
              " is of any extent; the layer needs to know it");
  RIESZ_CHECK(!X.copies(last) && !X.terms(last), layer,
              " normalises over the last dim, whose split overlaps in ", to_string(X),
              ", so that elements would count twice; bring x with between(X, Y) to a space without");
  Space W = select_dims(X, {last});
  for (const Axis& axis : X.partition().axes()) {
    if (axis.extent == 1 || W.placement(axis.name) != Placement::Sharded) W = W.replicated(axis.name);
  }
  return W;
}

std::string letters_of(const Space& X) {
  return std::string("abcdefghijklmnopqrstuvwxyz").substr(0, static_cast<std::size_t>(X.dims()));
}

at::Tensor row_mean(const Space& X, const at::Tensor& sums) {
  const auto n = static_cast<double>(X.shape().back());
  std::vector<int> rows;
  for (int dim = 0; dim + 1 < X.dims(); ++dim) rows.push_back(dim);
  Space copies = select_dims(X, rows);
  for (const std::string& axis : sharding_axes(X, X.dims() - 1)) copies = copies.copied(axis);
  Space terms = copies;
  for (const std::string& axis : sharding_axes(X, X.dims() - 1)) terms = terms.partial(axis);
  const at::Tensor all = between(terms, copies)(Vector(terms, sums)).local();
  return X.partition().active() ? all.div(n).unsqueeze(-1) : sums;
}

}  // namespace riesz
