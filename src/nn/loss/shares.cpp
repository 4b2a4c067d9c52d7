// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/shares.h"

#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {

namespace {

struct ShareSum {
  Space S;
  Operator sum;
};

Operator sum_of_shares(const Space& S, const std::vector<std::int64_t>& shape) {
  const Space whole(S.partition(), shape);
  Space terms = whole;
  for (int dim = 0; dim < S.dims(); ++dim) {
    for (const std::string& axis : sharding_axes(S, dim)) terms = terms.partial(axis);
  }
  return between(terms, whole);
}

}  // namespace

Vector add_shares(const Space& S, const std::vector<std::int64_t>& shape, const at::Tensor& share,
                  bool constant) {
  static auto& plans = *new PlanCache<ShareSum>;
  const auto plan =
      plans.get([&](const ShareSum& made) { return made.sum.range().shape() == shape && made.S == S; },
                [&] {
                  return ShareSum{S, sum_of_shares(S, shape)};
                });
  const Operator& A = plan->sum;
  const bool here = S.partition().active();
  return A(Vector(A.domain(), here ? share : at::zeros({0}, share.options()), constant));
}

void check_counts_once(std::string_view what, const Space& S) {
  check_not_partial(what, S);
  for (const Axis& axis : S.partition().axes()) {
    RIESZ_CHECK(axis.extent == 1 || S.placement(axis.name) != Placement::Copied, what,
                " of a vector that is Copied on axis ", axis.name, ", in ", to_string(S),
                ": each copy would add its own loss; bring it to Replicated with between(X, Y)");
  }
  for (int dim = 0; dim < S.dims(); ++dim) {
    RIESZ_CHECK(!S.copies(dim), what, " of a vector with copies where the splits of dim ", dim,
                " overlap, in ", to_string(S),
                ": each copy would add its own loss; bring it to a space without with between(X, Y)");
  }
}

}  // namespace riesz::detail
