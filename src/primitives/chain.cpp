// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/chain.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <atomic>
#include <utility>

namespace riesz {
namespace {

thread_local Chain* innermost = nullptr;

std::uint64_t next_recording() {
  static std::atomic<std::uint64_t> last(0);
  return ++last;
}

struct Callback : torch::CustomClassHolder {
  explicit Callback(std::function<void()> function) : call(std::move(function)) {}
  std::function<void()> call;
};

/// Hands the token on; its backward calls back.
struct MarkNode : torch::autograd::Function<MarkNode> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& token,
                            std::function<void()> passed) {
    context->saved_data["passed"] =
        c10::IValue::make_capsule(c10::make_intrusive<Callback>(std::move(passed)));
    return at::empty({0}, token.options());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const auto capsule = context->saved_data["passed"].toCapsule();
    const at::NoGradGuard no_gradient;
    static_cast<const Callback&>(*capsule).call();
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

Chain::Chain() : outer_(std::exchange(innermost, this)), recording_(next_recording()) {}

Chain::~Chain() { innermost = outer_; }

Chain* Chain::current() { return innermost; }

at::Tensor Chain::head(at::Device device) {
  if (!head_.defined()) {
    head_ = at::zeros({0}, at::TensorOptions().dtype(at::kFloat).device(device)).requires_grad_();
    token_ = head_;
  }
  return head_;
}

at::Tensor Chain::token(at::Device device) {
  head(device);
  return token_;
}

void Chain::advance(at::Tensor token) { token_ = std::move(token); }

void Chain::restart() {
  head_.reset();
  token_.reset();
  begun_ = nullptr;
  recording_ = next_recording();
}

void Chain::on_backward(std::function<void()> passed) {
  advance(MarkNode::apply(token(), std::move(passed)));
}

void Chain::begin_backward() {
  const at::NoGradGuard no_gradient;
  if (begun_) begun_();
}

}  // namespace riesz
