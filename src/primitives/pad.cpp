// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/pad.h"

#include "riesz/partition/local_boxes.h"
#include "riesz/primitives/ends.h"
#include "riesz/primitives/slice.h"

namespace riesz::primitives {
namespace {

class Pad final : public Primitive {
 public:
  Pad(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("Pad", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override { return put_boxes(x, domain(), range()); }

  Step adjoint() const override { return slice(dual(range()), dual(domain()), axes()); }

  Traffic traffic(int) const override { return {}; }
  bool moves() const override { return false; }
};

}  // namespace

Step pad(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Pad", X, Y, axes, {Placement::Sharded}, {Placement::Partial});
  return std::make_shared<Pad>(X, Y, axes);
}

}  // namespace riesz::primitives
