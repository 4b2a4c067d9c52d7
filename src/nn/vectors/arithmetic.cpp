// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/arithmetic.h"

#include <ATen/ops/abs.h>
#include <ATen/ops/div.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/square.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/where.h>

#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// The same pieces, be they copies or terms where splits overlap.
bool same_pieces(const Space& X, const Space& Y) {
  if (X.partition() != Y.partition() || X.shape() != Y.shape()) return false;
  for (int dim = 0; dim < X.dims(); ++dim) {
    if (X.unit_of(dim) != Y.unit_of(dim) || X.shards(dim).size() != Y.shards(dim).size()) return false;
    for (std::size_t i = 0; i < X.shards(dim).size(); ++i) {
      Shard shard = X.shards(dim)[i];
      shard.terms = Y.shards(dim)[i].terms;
      if (shard != Y.shards(dim)[i]) return false;
    }
  }
  return true;
}

std::string both(const Space& X, const Space& Y) {
  return concat("\n  ", to_string(X), "\n  ", to_string(Y), "\n");
}

bool is_sum(const Space& X) {
  bool sum = false;
  for (int dim = 0; dim < X.dims(); ++dim) sum = sum || X.terms(dim);
  for (int a = 0; a < static_cast<int>(X.partition().axes().size()); ++a) {
    sum = sum || X.placement(a) == Placement::Partial;
  }
  return sum;
}

void check_product(const char* what, const Space& X, const Space& Y) {
  RIESZ_CHECK(same_pieces(X, Y), what, " needs two vectors that lie alike, not in", both(X, Y),
              conversion_hint(X, Y));
  for (int dim = 0; dim < X.dims(); ++dim) {
    RIESZ_CHECK(!X.terms(dim) || !Y.terms(dim), what, " of two vectors with terms where the splits of dim ",
                dim, " overlap, in", both(X, Y),
                "a product of sums is not the sum of products; add up the terms of one with between(X, Y)");
  }
  for (const Axis& axis : X.partition().axes()) {
    const Placement x = X.placement(axis.name);
    const Placement y = Y.placement(axis.name);
    const bool terms = x == Placement::Partial || y == Placement::Partial;
    RIESZ_CHECK(!terms || x != y, what, " of two vectors that are Partial on axis ", axis.name, ", in",
                both(X, Y), "a product of sums is not the sum of products; reduce one with between(X, Y)");
    RIESZ_CHECK(terms || x == y, what, " needs two vectors that lie alike, but on axis ", axis.name,
                " one is ", to_string(x), " and one ", to_string(y), ", in", both(X, Y),
                "bring one to the other's space with between(X, Y)");
  }
}

/// X, and Y's terms.
Space joined(const Space& X, const Space& Y) {
  Space Z(X.partition(), X.shape());
  for (int dim = 0; dim < X.dims(); ++dim) {
    Z = Z.unit(dim, X.unit_of(dim));
    for (Shard shard : X.shards(dim)) {
      shard.terms = X.terms(dim) || Y.terms(dim);
      Z = Z.sharded_like(dim, X.partition().axis(shard.axis).name, shard);
    }
  }
  for (const Axis& axis : X.partition().axes()) {
    const Placement x = X.placement(axis.name);
    const bool partial = Y.placement(axis.name) == Placement::Partial;
    if (x != Placement::Sharded) Z = Z.placed(axis.name, partial ? Placement::Partial : x);
  }
  return Z;
}

/// As copies where the other has terms.
Space as_factor(Space X, const Space& other) {
  for (const Axis& axis : X.partition().axes()) {
    if (other.placement(axis.name) == Placement::Partial) X = X.copied(axis.name);
  }
  return X;
}

struct Reads {
  Operator x;
  Operator y;
  Space product;
};

Vector product(const char* what, const Vector& x, const Vector& y,
               at::Tensor (*op)(const at::Tensor&, const at::Tensor&)) {
  const Space& X = x.space();
  const Space& Y = y.space();
  const bool constant = x.is_constant() && y.is_constant();
  if (X == Y && !is_sum(X)) return {X, op(x.local(), y.local()), constant};
  static auto& plans = *new detail::PlanCache<Reads>;
  const auto reads =
      plans.get([&](const Reads& made) { return made.x.domain() == X && made.y.domain() == Y; },
                [&]() -> Reads {
                  check_product(what, X, Y);
                  return {between(X, as_factor(X, Y)), between(Y, as_factor(Y, X)), joined(X, Y)};
                });
  const at::Tensor left = reads->x(x).local();
  return {reads->product, op(left, reads->y(y).local()), constant};
}

void check_condition(const Vector& condition, const Space& X) {
  const Space& C = condition.space();
  RIESZ_CHECK(condition.local().scalar_type() == at::kBool, "where: the condition is of ",
              condition.local().scalar_type(), ", and must be of booleans");
  check_not_partial("where: the condition", C);
  RIESZ_CHECK(same_pieces(C, X), "where: the condition must lie as the vectors do, not in", both(C, X),
              conversion_hint(C, X));
}

}  // namespace

Vector operator*(const Vector& x, const Vector& y) { return product("x * y", x, y, at::mul); }

Vector operator/(const Vector& x, const Vector& y) {
  check_not_partial("x / y: division by y", y.space());
  return product("x / y", x, y, at::div);
}

Vector operator-(const Vector& x) { return {x.space(), at::neg(x.local()), x.is_constant()}; }
Vector operator*(const Vector& x, double c) { return c * x; }
Vector operator/(const Vector& x, double c) { return {x.space(), at::div(x.local(), c), x.is_constant()}; }

Vector exp(const Vector& x) { return map("exp", x, at::exp); }
Vector log(const Vector& x) { return map("log", x, at::log); }
Vector sqrt(const Vector& x) { return map("sqrt", x, at::sqrt); }
Vector rsqrt(const Vector& x) { return map("rsqrt", x, at::rsqrt); }
Vector tanh(const Vector& x) { return map("tanh", x, at::tanh); }
Vector abs(const Vector& x) { return map("abs", x, at::abs); }
Vector square(const Vector& x) { return map("square", x, at::square); }

Vector where(const Vector& condition, const Vector& x, const Vector& y) {
  RIESZ_CHECK(x.space() == y.space(), "where needs two vectors of one space, not of",
              both(x.space(), y.space()), conversion_hint(x.space(), y.space()));
  check_condition(condition, x.space());
  return {x.space(), at::where(condition.local(), x.local(), y.local()), x.is_constant() && y.is_constant()};
}

Vector where(const Vector& condition, const Vector& x, double y) {
  check_not_partial("where, with a number,", x.space());
  check_condition(condition, x.space());
  return {x.space(), at::where(condition.local(), x.local(), at::scalar_tensor(y, x.local().options())),
          x.is_constant()};
}

Vector cast(const Vector& x, at::ScalarType type) {
  const at::ScalarType from = x.local().scalar_type();
  const bool rounds = type != from && (type == at::kBool ||
                                       (at::isIntegralType(type, false) && !at::isIntegralType(from, true)));
  if (rounds) check_not_partial("cast to integers or truth", x.space());
  return {x.space(), x.local().to(type), x.is_constant()};
}

}  // namespace riesz
