// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/node.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <utility>

#include "riesz/comm/channel.h"
#include "riesz/comm/counters.h"

namespace riesz::detail {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

constexpr const char* kKey = "node";

struct NodeCapsule : torch::CustomClassHolder {
  explicit NodeCapsule(std::shared_ptr<Node> shared) : node(std::move(shared)) {}
  std::shared_ptr<Node> node;
};

/// Of what was recorded in `forward`, which may be nullptr. The phase is for who counts. There is always one,
/// so that what is shared in it does not depend on whether this worker counts.
std::shared_ptr<const Origin> backward_of(const std::shared_ptr<const Origin>& forward) {
  static const auto* const of_no_layer =
      new std::shared_ptr<const Origin>(std::make_shared<const Origin>(Origin{"", Phase::backward}));
  if (!Counters::instance().recording()) return forward ? forward : *of_no_layer;
  return std::make_shared<const Origin>(Origin{forward ? forward->layer : "", Phase::backward});
}

/// Autograd takes what a node returns for a leaf's gradient, and adds to it in place, if nobody else holds
/// that tensor. So a node returns a gradient that came, itself, or memory of its own.
class OwnGradients {
 public:
  explicit OwnGradients(const variable_list& gradients) {
    for (const at::Tensor& each : gradients)
      if (each.defined() && each.numel() > 0)
        places_.push_back({each.unsafeGetTensorImpl(), memory_of(each)});
  }

  at::Tensor own(const at::Tensor& result) const {
    if (!result.defined() || at::GradMode::is_enabled()) return result;
    for (const auto& [tensor, memory] : places_)
      if (result.unsafeGetTensorImpl() != tensor && memory_of(result) == memory) return result.clone();
    return result;
  }

 private:
  static const void* memory_of(const at::Tensor& tensor) {
    return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  }

  c10::SmallVector<std::pair<const void*, const void*>, 4> places_;
};

}  // namespace

/// What autograd records of every node.
struct Recorded : torch::autograd::Function<Recorded> {
  static variable_list make(std::shared_ptr<Node> node, const variable_list& inputs) {
    variable_list given;
    node->given_.reserve(inputs.size());
    for (const at::Tensor& input : inputs) {
      node->given_.push_back(input.defined());
      if (input.defined()) given.push_back(input);
    }
    return apply(at::TensorList(given), std::move(node));
  }

  static variable_list forward(AutogradContext* context, at::TensorList given, std::shared_ptr<Node> node) {
    node->origin_ = LayerScope::current();
    node->channel_ = current_channel();
    node->context_ = context;
    variable_list inputs(node->given_.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (node->given_[i]) inputs[i] = given[next++];
    variable_list outputs = node->forward(inputs);
    node->context_ = nullptr;
    context->saved_data[kKey] = c10::IValue::make_capsule(c10::make_intrusive<NodeCapsule>(std::move(node)));
    return outputs;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto capsule = context->saved_data[kKey].toCapsule();
    Node& node = *static_cast<const NodeCapsule&>(*capsule).node;
    const LayerScope layer(backward_of(node.origin_));
    const ChannelScope channel(node.channel_);
    node.context_ = context;
    const OwnGradients own_gradients(gradients);
    const variable_list all = node.backward(std::move(gradients));
    variable_list results;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (node.given_[i]) results.push_back(own_gradients.own(all[i]));
    results.emplace_back();  // for the node itself
    return results;
  }
};

Node::~Node() = default;

void Node::save(const std::vector<at::Tensor>& tensors) { context_->save_for_backward(tensors); }

std::vector<at::Tensor> Node::saved() const { return context_->get_saved_variables(); }

bool Node::needs_gradient(std::size_t input) const {
  const auto before = std::count(given_.begin(), given_.begin() + static_cast<std::ptrdiff_t>(input), true);
  return given_[input] && context_->needs_input_grad(static_cast<std::size_t>(before));
}

int Node::number_of_backward() { return torch::autograd::get_current_graph_task_id(); }

std::vector<at::Tensor> record(std::shared_ptr<Node> node, const std::vector<at::Tensor>& inputs) {
  return Recorded::make(std::move(node), inputs);
}

}  // namespace riesz::detail
