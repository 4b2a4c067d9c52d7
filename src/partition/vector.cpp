// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/vector.h"

#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <cstddef>
#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/spin_lock.h"
#include "riesz/comm/table_text.h"
#include "riesz/partition/intervals/local_boxes.h"

namespace riesz {
namespace {

void check_equal_spaces(const char* what, const Vector& x, const Vector& y) {
  RIESZ_CHECK(x.space() == y.space(), what, " needs two vectors of one space, not of\n  ",
              to_string(x.space()), "\n  ", to_string(y.space()), "\n",
              conversion_hint(x.space(), y.space()));
  check_one_device(what, x, y);
}

/// Have vectors of X and Y one shape, as far as it is said?
bool same_shape(const Space& X, const Space& Y) {
  bool same = X.dims() == Y.dims();
  for (std::size_t dim = 0; same && dim < X.shape().size(); ++dim) {
    const std::int64_t x = X.shape()[dim], y = Y.shape()[dim];
    same = x == y || x == Space::any || y == Space::any;
  }
  return same;
}

bool same_units(const Space& X, const Space& Y) {
  bool same = true;
  for (int dim = 0; same && dim < X.dims(); ++dim) same = X.unit_of(dim) == Y.unit_of(dim);
  return same;
}

}  // namespace

Vector constant(const Vector& x) { return {x.space(), x.local().detach(), true}; }

std::string conversion_hint(const Space& X, const Space& Y) {
  if (!same_shape(X, Y)) {
    return concat("their shapes differ, ", at::IntArrayRef(X.shape()), " and ", at::IntArrayRef(Y.shape()),
                  ", which no between(X, Y) mends: reshape one, or, where it has some of the other's dims, "
                  "spread it over the rest by letters, as add(x, \"btc\", b, \"c\") does");
  }
  if (!same_units(X, Y))
    return "their units differ, which no between(X, Y) mends: bring one to the other's with reshape(x, Y)";
  const std::string remedy = "bring one to the other's space with between(X, Y)";
  const std::string x = list_text(X.partition().workers()), y = list_text(Y.partition().workers());
  if (x == y) return remedy;
  return concat("which lie on other workers, of ranks ", x, " and of ranks ", y, "; ", remedy,
                ", or in a model of several stages give both to a module of the stage that is to have them");
}

at::Tensor narrow(const at::Tensor& tensor, const Box& box) {
  at::Tensor part = tensor;
  for (std::size_t dim = 0; dim < box.size(); ++dim) {
    const auto d = static_cast<std::int64_t>(dim);
    if (box[dim].size() != part.size(d)) part = part.narrow(d, box[dim].begin, box[dim].size());
  }
  return part;
}

Vector::Vector(Space space, at::Tensor local, bool constant)
    : space_(std::move(space)), local_(std::move(local)), constant_(constant) {
  RIESZ_CHECK(space_.concrete(), "Vector: a vector's space has no dim of any extent, unlike ",
              to_string(space_));
  RIESZ_CHECK(local_.defined(), "Vector: an undefined tensor for ", to_string(space_));
  RIESZ_CHECK(local_.sizes() == at::IntArrayRef(space_.local_shape()),
              "Vector: this worker's tensor has shape ", local_.sizes(), " where ", to_string(space_),
              " gives it ", at::IntArrayRef(space_.local_shape()));
  if (!local_.is_floating_point() && !local_.is_complex()) constant_ = true;
  RIESZ_CHECK(!constant_ || !local_.requires_grad(),
              "Vector: a constant, to which no gradient goes back, of ", to_string(space_),
              ", but its tensor requires one; it was made from another tensor that does, or requires_grad_() "
              "was said of a constant's: make such a vector by Vector(space, local)");
}

const Vector::Slot& Vector::slot() const {
  static SpinLock making;  // two threads may copy one vector
  const std::lock_guard lock(making);
  if (slot_ == nullptr) slot_ = std::make_shared<std::shared_ptr<void>>();
  return slot_;
}

Vector operator+(const Vector& x, const Vector& y) {
  check_equal_spaces("x + y", x, y);
  return {x.space(), at::add(x.local(), y.local()), x.is_constant() && y.is_constant()};
}

Vector operator-(const Vector& x, const Vector& y) {
  check_equal_spaces("x - y", x, y);
  return {x.space(), at::sub(x.local(), y.local()), x.is_constant() && y.is_constant()};
}

Vector operator*(double c, const Vector& x) { return {x.space(), at::mul(x.local(), c), x.is_constant()}; }

void check_one_device(const char* what, const Vector& x, const Vector& y) {
  if (!x.space().partition().active() || !y.space().partition().active()) return;
  RIESZ_CHECK(x.local().device() == y.local().device(), what, " of vectors on two devices,\n  ",
              to_string(x.space()), " on ", x.local().device(), "\n  ", to_string(y.space()), " on ",
              y.local().device(), "\nbring one to the other's: Vector(y.space(), y.local().to(device))");
}

void check_not_partial(std::string_view what, const Space& space) {
  for (const Axis& axis : space.partition().axes()) {
    RIESZ_CHECK(space.placement(axis.name) != Placement::Partial, what,
                " of a vector that is Partial on axis ", axis.name, ", in ", to_string(space),
                ": a function of a sum is not the sum of the function; reduce it first with between(X, Y)");
  }
  for (int dim = 0; dim < space.dims(); ++dim) {
    RIESZ_CHECK(!space.terms(dim), what, " of a vector with terms where the splits of dim ", dim,
                " overlap, in ", to_string(space),
                ": a function of a sum is not the sum of the function; add them up first with "
                "between(X, Y)");
  }
}

Vector map(const std::string& what, const Vector& x, const std::function<at::Tensor(const at::Tensor&)>& f) {
  check_not_partial(what, x.space());
  return {x.space(), f(x.local()), x.is_constant()};
}

Vector distribute(const Space& X, const at::Tensor& global) {
  RIESZ_CHECK(global.defined(), "distribute: an undefined tensor for ", to_string(X));
  RIESZ_CHECK(X.concrete(), "distribute: ", to_string(X),
              " has a dim of any extent, so no tensor is a vector of it; give every dim its extent");
  RIESZ_CHECK(global.sizes() == at::IntArrayRef(X.shape()), "distribute: a tensor of shape ", global.sizes(),
              " is no vector of ", to_string(X), ", which wants one of shape ", at::IntArrayRef(X.shape()),
              "; every worker gives the whole tensor, of which this cuts out its part (a part alone makes "
              "a Vector(X, part)), or the space is to have the tensor's shape");
  const Partition& P = X.partition();
  if (!P.active()) return {X, at::zeros({0}, global.options())};
  const at::Tensor local = take_boxes(global, X);
  if (X.leader(P.rank(), {Placement::Partial}) != P.rank()) return {X, at::zeros_like(local)};
  return {X, local.contiguous()};
}

}  // namespace riesz
