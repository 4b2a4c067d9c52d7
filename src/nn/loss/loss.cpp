// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/loss/loss.h"

#include <ATen/ops/zeros.h>

#include "riesz/comm/error.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz {

Vector add_shares(const Space& S, const std::vector<std::int64_t>& shape, const at::Tensor& share) {
  const Space whole(S.partition(), shape);
  Space terms = whole;
  for (int dim = 0; dim < S.dims(); ++dim) {
    for (const std::string& axis : sharding_axes(S, dim)) terms = terms.partial(axis);
  }
  const bool here = S.partition().active();
  return between(terms, whole)(Vector(terms, here ? share : at::zeros({0}, share.options())));
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

Loss element_loss(const std::string& what, const Vector& prediction, const Vector& target,
                  const std::function<at::Tensor(const at::Tensor&, const at::Tensor&)>& local_sum) {
  const Space& S = prediction.space();
  RIESZ_CHECK(S == target.space(), what, " needs prediction and target in one space, not\n  ", to_string(S),
              "\n  ", to_string(target.space()), "\nbring one to the other's space with between(X, Y)");
  check_counts_once(what, S);
  check_one_device(what.c_str(), prediction, target);
  const at::Tensor x = to_accumulation_type(prediction.local());
  const at::Tensor y = to_accumulation_type(target.local());
  const at::ScalarType type = c10::promoteTypes(x.scalar_type(), y.scalar_type());
  return {add_shares(S, {}, local_sum(x.to(type), y.to(type))), S.numel()};
}

}  // namespace riesz
