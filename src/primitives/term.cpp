// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/term.h"

#include <ATen/ops/zeros_like.h>

#include "riesz/primitives/agree.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {
namespace {

class Term final : public Primitive {
 public:
  Term(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("Term", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override {
    const Partition& P = domain().partition();
    return P.fibre(P.rank(), axes()).front() == P.rank() ? x : at::zeros_like(x);
  }

  Step adjoint() const override {
    const Space X = dual(range());
    const Space Y = dual(domain());
    return Y.placement(axes().front()) == Placement::Replicated ? agree(X, Y, axes()) : term(X, Y, axes());
  }

  Traffic traffic(int) const override { return {}; }
  bool moves() const override { return false; }
};

}  // namespace

Step term(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Term", X, Y, axes, {Placement::Replicated, Placement::Copied}, {Placement::Partial});
  return std::make_shared<Term>(X, Y, axes);
}

}  // namespace riesz::primitives
