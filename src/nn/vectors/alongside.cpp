// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/alongside.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/between.h"

namespace riesz {
Operator alongside(const std::string& y_indices, const Space& Y, const std::string& w_indices,
                   const Space& W) {
  for (const Axis& axis : Y.partition().axes()) {
    const Placement placement = Y.placement(axis.name);
    RIESZ_CHECK(axis.extent == 1 || placement == Placement::Sharded || placement == Placement::Replicated,
                "a vector of\n  ", to_string(W), "\nis to stand beside one that is ", to_string(placement),
                " on axis ", axis.name, ",\n  ", to_string(Y),
                "\nwhich must be Sharded or Replicated; bring it there with between(X, Y)");
  }
  // As in the contraction with ones; but where Y's split overlaps, w has copies where y has.
  Space beside(Y.partition(), W.shape());
  for (int dim = 0; dim < W.dims(); ++dim) beside = beside.unit(dim, W.unit_of(dim));
  for (int dim = 0; dim < Y.dims(); ++dim) {
    const std::size_t in_w = w_indices.find(y_indices[static_cast<std::size_t>(dim)]);
    for (const Shard& shard : Y.shards(dim)) {
      const std::string& axis = Y.partition().axis(shard.axis).name;
      beside = in_w == std::string::npos ? beside.copied(axis)
                                         : beside.sharded_like(static_cast<int>(in_w), axis, shard);
    }
  }
  return between(W, beside);
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
