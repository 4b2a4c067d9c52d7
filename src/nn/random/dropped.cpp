// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/dropped.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mul.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/random/drop_elements.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/dropped_there.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

/// A map of x that is its own adjoint.
class DroppedNode final : public Node {
 public:
  explicit DroppedNode(DropoutDraws draws) : draws_(std::move(draws)) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    const at::Tensor x = inputs[0].contiguous();
    at::Tensor y = at::empty(x.sizes(), x.options());
    if (!x.is_cpu())
      drop_there(x, draws_, y);
    else if (has_values())
      drop_elements(x, draws_, y);
    return {y};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    return {dropped(gradients[0], draws_)};
  }

 private:
  DropoutDraws draws_;
};

at::Tensor dropped_by_operators(const at::Tensor& x, const DropoutDraws& draws) {
  return at::mul(x, dropout_mask(draws, x.options()));
}

void check_elements(const at::Tensor& x, const DropoutDraws& draws) {
  RIESZ_CHECK(x.numel() == volume(draws.boxes), "dropout of ", x.numel(), " elements, drawn for ",
              volume(draws.boxes), "; the boxes say which elements x has");
}

at::Tensor dropped_there(const at::Tensor& x, const DropoutDraws& draws) {
  check_elements(x, draws);
  if (!has_elements_to_drop_there(x, draws)) return dropped_by_operators(x, draws);
  return record(std::make_shared<DroppedNode>(draws), {x}).front();
}

at::Tensor dropped_in_memory(const at::Tensor& x, const DropoutDraws& draws) {
  check_elements(x, draws);
  if (!has_elements_to_drop(x)) return dropped_by_operators(x, draws);
  return record(std::make_shared<DroppedNode>(draws), {x}).front();
}

}  // namespace

Dispatched<at::Tensor(const at::Tensor&, const DropoutDraws&)> dropped_kernels{dropped_in_memory,
                                                                               dropped_there};

at::Tensor dropped(const at::Tensor& x, const DropoutDraws& draws) {
  return dropped_kernels(x.device(), x, draws);
}

}  // namespace riesz::detail
