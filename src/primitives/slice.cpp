// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/slice.h"

#include "riesz/partition/local_boxes.h"
#include "riesz/primitives/all_gather.h"
#include "riesz/primitives/ends.h"
#include "riesz/primitives/pad.h"

namespace riesz::primitives {
namespace {

class Slice final : public Primitive {
 public:
  Slice(const Space& X, const Space& Y, const std::vector<int>& axes) : Primitive("Slice", X, Y, axes) {}

  at::Tensor apply(const at::Tensor& x) const override { return take_boxes(x, domain(), range()); }

  Step adjoint() const override {
    const Space X = dual(range());
    const Space Y = dual(domain());
    return Y.placement(axes().front()) == Placement::Replicated ? all_gather(X, Y, axes())
                                                                : pad(X, Y, axes());
  }

  Traffic traffic(int) const override { return {}; }
  bool moves() const override { return false; }
};

}  // namespace

Step slice(const Space& X, const Space& Y, const std::vector<int>& axes) {
  check_ends("Slice", X, Y, axes, {Placement::Replicated, Placement::Copied}, {Placement::Sharded});
  return std::make_shared<Slice>(X, Y, axes);
}

}  // namespace riesz::primitives
