// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/copy.h"

#include "riesz/primitives/all_reduce.h"
#include "riesz/primitives/ends.h"

namespace riesz::primitives {
namespace {

class Copy final : public Primitive {
 public:
  Copy(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("Copy", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override { return x; }

  Step adjoint() const override {
    return all_reduce(dual(range()), dual(domain()), axes());
  }

  Traffic traffic(int) const override { return {}; }
  bool moves() const override { return false; }
};

}  // namespace

Step copy(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Copy", X, Y, axes, {Placement::Replicated}, {Placement::Copied});
  return std::make_shared<Copy>(X, Y, axes);
}

}  // namespace riesz::primitives
