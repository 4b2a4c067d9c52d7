// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/pointwise.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/nn/pointwise/record.h"
#include "riesz/nn/vectors/beside.h"
#include "riesz/nn/vectors/local_op.h"

namespace riesz::detail {
namespace {

void check_type(const std::string& name, const Vector& x) {
  const at::ScalarType type = x.local().scalar_type();
  RIESZ_CHECK(at::isFloatingType(type), "pointwise ", name, " of elements of ", type,
              ", which must be real floating-point numbers; cast(x, type) makes others");
}

/// `locals` of `xs`, as they are read in X.
Vector applied(const Formula& formula, const Space& X, const std::vector<Vector>& xs,
               const std::vector<at::Tensor>& locals) {
  const bool constant = std::all_of(xs.begin(), xs.end(), [](const Vector& x) { return x.is_constant(); });
  return local_op(X, locals, constant, [&] { return recorded_pointwise(formula, locals); });
}

std::vector<std::string> groups_of(const std::string& indices) {
  std::vector<std::string> groups(1);
  for (const char index : indices) {
    if (index == ' ') continue;
    if (index == ',')
      groups.emplace_back();
    else
      groups.back() += index;
  }
  return groups;
}

}  // namespace

Vector pointwise_of(const Formula& formula, const std::vector<Vector>& xs) {
  const Space& X = xs[0].space();
  check_not_partial(formula.name, X);
  std::vector<at::Tensor> locals;
  for (const Vector& x : xs) {
    RIESZ_CHECK(x.space() == X, "pointwise ", formula.name, " needs vectors of one space, not of\n  ",
                to_string(X), "\n  ", to_string(x.space()), "\n", conversion_hint(X, x.space()));
    check_type(formula.name, x);
    check_one_device("a point-wise formula", xs[0], x);
    locals.push_back(x.local());
  }
  return applied(formula, X, xs, locals);
}

Vector pointwise_of(const Formula& formula, const std::string& indices, const std::vector<Vector>& xs) {
  const Space& X = xs[0].space();
  const std::vector<std::string> groups = groups_of(indices);
  RIESZ_CHECK(groups.size() == xs.size(), "pointwise ", formula.name, ": \"", indices, "\" has ",
              groups.size(), " groups of indices, for ", xs.size(),
              " vectors; give each its own, with commas between, such as \"btc,c\"");
  check_not_partial(formula.name, X);
  const std::string what = "pointwise " + formula.name;
  std::vector<at::Tensor> locals;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    check_type(formula.name, xs[i]);
    locals.push_back(i == 0 ? xs[i].local()
                            : read_beside(what.c_str(), BesideAs::product, X, groups[0], xs[i], groups[i]));
  }
  return applied(formula, X, xs, locals);
}

}  // namespace riesz::detail
