// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/pointwise/record.h"

#include <ATen/ExpandUtils.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "riesz/nn/pointwise/strips.h"
#include "riesz/nn/pointwise/there.h"
#include "riesz/nn/vectors/accumulation_type.h"
#include "riesz/nn/vectors/held_once.h"
#include "riesz/primitives/node.h"

namespace riesz::detail {
namespace {

using Tensors = std::vector<at::Tensor>;

std::vector<Expression> expressions(const Tensors& inputs) {
  std::vector<Expression> all;
  for (const at::Tensor& x : inputs) all.emplace_back(to_accumulation_type(x));
  return all;
}

/// As a new tensor of these sizes.
at::Tensor tensor_of(const Expression& y, at::IntArrayRef sizes, const at::Tensor& like) {
  if (!y.tensor().defined()) return at::full(sizes, y.constant(), like.options());
  const at::Tensor typed = y.tensor().to(like.scalar_type());
  return typed.sizes() == sizes ? typed : typed.expand(sizes).contiguous();
}

at::Tensor operators_of_value(const Formula& formula, const Tensors& inputs) {
  const Expression y = formula.kernels->value(formula.f.get(), expressions(inputs));
  return tensor_of(y, inputs[0].sizes(), inputs[0]);
}

Tensors operators_of_gradients(const Formula& formula, const Tensors& inputs, at::Tensor ybar,
                               const std::vector<bool>& wanted) {
  const std::vector<Expression> gradients = formula.kernels->gradients(
      formula.f.get(), expressions(inputs), Expression(to_accumulation_type(ybar)));
  Tensors results(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    const at::Tensor all = tensor_of(gradients[i], ybar.sizes(), to_accumulation_type(inputs[i]));
    results[i] = at::sum_to(all, inputs[i].sizes()).to(inputs[i].scalar_type());
  }
  return results;
}

bool all_in_memory(const Tensors& inputs) { return std::all_of(inputs.begin(), inputs.end(), is_in_memory); }

at::Tensor value_on_cpu(const Formula& formula, const Tensors& inputs) {
  return all_in_memory(inputs) ? strips_of_value(formula, inputs) : operators_of_value(formula, inputs);
}

Tensors gradients_on_cpu(const Formula& formula, const Tensors& inputs, at::Tensor ybar,
                         const std::vector<bool>& wanted) {
  if (!all_in_memory(inputs) || !is_in_memory(ybar))
    return operators_of_gradients(formula, inputs, ybar, wanted);
  return strips_of_gradients(formula, inputs, ybar, wanted, held_once(ybar));
}

at::Tensor value_elsewhere(const Formula& formula, const Tensors& inputs) {
  const std::optional<at::Tensor> y = value_there(formula, inputs);
  return y ? *y : operators_of_value(formula, inputs);
}

Tensors gradients_elsewhere(const Formula& formula, const Tensors& inputs, at::Tensor ybar,
                            const std::vector<bool>& wanted) {
  const std::optional<Tensors> all = gradients_there(formula, inputs, ybar, wanted, held_once(ybar));
  return all ? *all : operators_of_gradients(formula, inputs, ybar, wanted);
}

/// It gives its output again. For that it has copies of the inputs that are broadcast, which are few
/// elements, and of those in lent memory: the memory of a parameter, such as a bias, may be elsewhere when
/// backward comes to a reader of the output.
class PointwiseNode : public Node {
 public:
  explicit PointwiseNode(Formula formula, bool recorded)
      : formula_(std::move(formula)), recorded_(recorded) {}

  Tensors forward(const Tensors& inputs) override {
    count_ = inputs.size();
    if (recorded_) {
      Tensors all = inputs;
      for (const at::Tensor& x : inputs)
        all.push_back(x.numel() != inputs[0].numel() || lies_in_lent_memory(x) ? x.clone() : at::Tensor());
      save(all);
    }
    return {pointwise_values(inputs[0].device(), formula_, inputs)};
  }

  bool gives_again() const override { return true; }

  at::Tensor again() override {
    Tensors inputs = saved();
    if (at::GradMode::is_enabled()) return recorded_pointwise(formula_, inputs_of(inputs));
    for (std::size_t i = 0; i < count_; ++i)
      if (inputs[count_ + i].defined()) inputs[i] = inputs[count_ + i];
    return pointwise_values(inputs[0].device(), formula_, inputs_of(inputs));
  }

  Tensors backward(Tensors gradients) override {
    const Tensors inputs = inputs_of(saved());
    std::vector<bool> wanted;
    for (std::size_t i = 0; i < inputs.size(); ++i) wanted.push_back(needs_gradient(i));
    if (at::GradMode::is_enabled()) return operators_of_gradients(formula_, inputs, gradients[0], wanted);
    return pointwise_gradients(inputs[0].device(), formula_, inputs, std::move(gradients[0]), wanted);
  }

 private:
  Tensors inputs_of(const Tensors& saved) const {
    return {saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(count_)};
  }

  Formula formula_;
  bool recorded_;
  std::size_t count_ = 0;
};

}  // namespace

Dispatched<at::Tensor(const Formula&, const Tensors&)> pointwise_values{value_on_cpu, value_elsewhere};
Dispatched<Tensors(const Formula&, const Tensors&, at::Tensor, const std::vector<bool>&)> pointwise_gradients{
    gradients_on_cpu, gradients_elsewhere};

at::Tensor recorded_pointwise(const Formula& formula, const Tensors& inputs) {
  const bool recorded =
      at::GradMode::is_enabled() &&
      std::any_of(inputs.begin(), inputs.end(), [](const at::Tensor& x) { return x.requires_grad(); });
  return record(std::make_shared<PointwiseNode>(formula, recorded), inputs)[0];
}

}  // namespace riesz::detail
