// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/alongside.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/contraction.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz {
Operator alongside(const std::string& y_indices, const Space& Y, const std::string& w_indices, const Space& W) {
  for (const Axis& axis : Y.partition().axes()) {
    const Placement placement = Y.placement(axis.name);
    RIESZ_CHECK(axis.extent == 1 || placement == Placement::Sharded || placement == Placement::Replicated,
                "a vector of\n  ", to_string(W), "\nis to stand beside one that is ", to_string(placement), " on axis ",
                axis.name, ",\n  ", to_string(Y), "\nwhich must be Sharded or Replicated; bring it there with between(X, Y)");
  }
  std::string ones;
  std::vector<int> dims;
  for (std::size_t dim = 0; dim < y_indices.size(); ++dim) {
    if (w_indices.find(y_indices[dim]) != std::string::npos) continue;
    ones += y_indices[dim];
    dims.push_back(static_cast<int>(dim));
  }
  // Wherever W is stored, it is computed with where Y says: as if it were Replicated.
  Space whole(Y.partition(), W.shape());
  for (int dim = 0; dim < W.dims(); ++dim) whole = whole.unit(dim, W.unit_of(dim));
  const Contraction product(ones + "," + w_indices + "->" + y_indices, select_dims(Y, dims), whole, Y);
  return between(W, product.read(1).range());
}

Alongside::Alongside(std::string y_indices, std::string w_indices)
    : y_indices_(std::move(y_indices)), w_indices_(std::move(w_indices)) {
  std::size_t from = 0;
  for (const char index : w_indices_) {
    from = y_indices_.find(index, from);
    RIESZ_CHECK(from != std::string::npos, "the indices \"", w_indices_, "\" are not among \"", y_indices_,
                "\" in their order");
  }
}

at::Tensor Alongside::operator()(const Space& Y, const Vector& w) {
  if (!read_ || *beside_ != Y || read_->domain() != w.space()) {
    read_ = alongside(y_indices_, Y, w_indices_, w.space());
    beside_ = Y;
  }
  const at::Tensor local = (*read_)(w).local();
  if (!Y.partition().active()) return local;
  std::vector<std::int64_t> shape;
  std::int64_t next = 0;
  for (const char index : y_indices_) {
    shape.push_back(w_indices_.find(index) == std::string::npos ? 1 : local.size(next++));
  }
  return local.reshape(shape);
}

}  // namespace riesz
