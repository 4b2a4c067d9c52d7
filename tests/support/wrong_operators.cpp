// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/wrong_operators.h"

#include <ATen/core/Tensor.h>

#include <functional>

#include "riesz/primitives/moves.h"
#include "riesz/testing/custom_primitive.h"

namespace riesz::testing {
namespace {

Space replicated(const Partition& P) { return Space(P, {2 * P.size(), 3}); }
std::string axis(const Partition& P) { return P.axes().front().name; }

}  // namespace

Operator mean_for_sum(const Partition& P) {
  const Space X = replicated(P);
  const Space Y = X.copied(axis(P));
  const Step right = primitives::copy(X, Y, {0});
  const Step sum = right->adjoint();
  const Step mean = custom(
      "Mean", sum->domain(), sum->range(),
      [sum, p = P.size()](const at::Tensor& y) { return sum->apply(y).div(p); }, [right] { return right; });
  return {X,
          Y,
          {custom(
              "Copy", X, Y, [](const at::Tensor& x) { return x; }, [mean] { return mean; })}};
}

Operator copies_not_added(const Partition& P) {
  const Space X = replicated(P).sharded(0, axis(P));
  const Space Y = replicated(P).copied(axis(P));
  const Step gather = primitives::all_gather(X, Y, {0});
  const auto own = [X](const at::Tensor& y) {
    const Interval mine = X.box(X.partition().rank()).front();
    return y.narrow(0, mine.begin, mine.size());
  };
  const Step crop = custom("Crop", dual(Y), dual(X), own, [gather] { return gather; });
  return {X,
          Y,
          {custom(
              "AllGather", X, Y, [gather](const at::Tensor& x) { return gather->apply(x); },
              [crop] { return crop; })}};
}

Operator ranks_reversed(const Partition& P) {
  const Space X = replicated(P).sharded(0, axis(P));
  const Space Y = replicated(P).copied(axis(P));
  const Step gather = primitives::all_gather(X, Y, {0});
  const auto reversed = [gather, p = P.size()](const at::Tensor& x) {
    return gather->apply(x).view({p, 2, 3}).flip(0).reshape({2 * p, 3});
  };
  return {X, Y, {custom("AllGather", X, Y, reversed, [gather] { return gather->adjoint(); })}};
}

Operator adjoint_of_adjoint_differs(const Partition& P) {
  const Space X = replicated(P);
  const Space Y = X.copied(axis(P));
  const Step right = primitives::copy(X, Y, {0});
  const Step sum = right->adjoint();
  const Step once = custom(
      "Sum", sum->domain(), sum->range(), [sum](const at::Tensor& y) { return sum->apply(y); },
      [sum] { return sum->adjoint(); });
  return {X,
          Y,
          {custom(
              "Spread", X, Y, [](const at::Tensor& x) { return x; }, [once] { return once; })}};
}

}  // namespace riesz::testing
