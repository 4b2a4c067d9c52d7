// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/primitive.h"

#include <utility>

#include "riesz/comm/descriptions.h"
#include "riesz/comm/table_text.h"
#include "riesz/partition/digest.h"

namespace riesz {
namespace {

std::string end_of(const Space& space, int axis) {
  const int dim = space.dim_of(axis);
  return dim < 0 ? to_string(space.placement(axis)) : "Sharded(" + std::to_string(dim) + ")";
}

/// Such as "AllGather over tp: Sharded(1) -> Copied".
std::string text_of(const std::string& name, const Space& X, const Space& Y, const std::vector<int>& axes) {
  if (X.partition() != Y.partition()) {
    return name + ": " + to_string(X.partition()) + " -> " + to_string(Y.partition());
  }
  if (axes.empty()) return name;
  std::string over;
  std::string ends;
  for (const int a : axes) {
    over += (over.empty() ? " over " : ", ") + X.partition().axis(a).name;
    ends += (ends.empty() ? "" : ", ") + end_of(X, a) + " -> " + end_of(Y, a);
  }
  return name + over + ": " + ends;
}

/// Of a primitive's ends, in their order: of X → Y another than of Y → X.
DigestBuilder digest_of(const Space& X, const Space& Y) {
  DigestBuilder digest;
  digest.mix(X.partition().digest());
  if (X.partition() != Y.partition()) digest.mix(Y.partition().digest());
  mix(digest, X);
  mix(digest, Y);
  return digest;
}

std::string shape_text(const Space& space) { return "(" + list_text(space.shape()) + ")"; }

Operation operation_of(const std::string& name, const Space& X, const Space& Y, const std::vector<int>& axes,
                       const std::string& parameters) {
  const bool alike = X.shape() == Y.shape();
  const std::string more = " of " + shape_text(X) + (alike ? "" : " -> " + shape_text(Y));
  Operation operation(name, text_of(name, X, Y, axes), more, digest_of(X, Y));
  if (!parameters.empty()) operation.text = text_of(name + parameters, X, Y, axes);  // the label has them not
  return operation;
}

}  // namespace

Primitive::Primitive(std::string name, Space domain, Space range, std::vector<int> axes,
                     const std::string& parameters)
    : domain_(std::move(domain)),
      range_(std::move(range)),
      axes_(std::move(axes)),
      operation_(operation_of(name, domain_, range_, axes_, parameters)) {}

std::string to_string(const Primitive& primitive) {
  detail::count_text();
  return primitive.operation().text;
}

}  // namespace riesz
