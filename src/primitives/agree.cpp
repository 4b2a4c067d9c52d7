// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/agree.h"

#include "riesz/primitives/ends.h"
#include "riesz/primitives/term.h"

namespace riesz::primitives {
namespace {

class Agree final : public Primitive {
 public:
  Agree(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("Agree", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override { return x; }

  Step adjoint() const override {
    return term(dual(range()), dual(domain()), axes());
  }

  Traffic traffic(int) const override { return {}; }
  bool moves() const override { return false; }
};

}  // namespace

Step agree(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Agree", X, Y, axes, {Placement::Copied}, {Placement::Replicated});
  return std::make_shared<Agree>(X, Y, axes);
}

}  // namespace riesz::primitives
