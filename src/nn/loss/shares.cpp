// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/shares.h"

#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/thread_cache.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {

Vector add_shares(const Space& S, const std::vector<std::int64_t>& shape, const at::Tensor& share) {
  thread_local ThreadCache<std::pair<Space, std::vector<std::int64_t>>, Operator> kept;
  const Operator A = kept.of({S, shape}, [&] {
    const Space whole(S.partition(), shape);
    Space terms = whole;
    for (int dim = 0; dim < S.dims(); ++dim) {
      for (const std::string& axis : sharding_axes(S, dim)) terms = terms.partial(axis);
    }
    return between(terms, whole);
  });
  const bool here = S.partition().active();
  return A(Vector(A.domain(), here ? share : at::zeros({0}, share.options())));
}

void check_counts_once(const std::string& what, const Space& S) {
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
