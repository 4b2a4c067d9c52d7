// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/chain.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/primitives/node.h"

namespace riesz {
namespace {

thread_local Chain* innermost = nullptr;

std::shared_ptr<const std::uint64_t> next_recording() {
  static std::atomic<std::uint64_t> last(0);
  return std::make_shared<const std::uint64_t>(++last);
}

/// Hands the token on, to a device; its backward calls back, where a node with outputs there runs.
class MarkNode : public detail::Node {
 public:
  MarkNode(std::function<void()> passed, at::Device device) : passed_(std::move(passed)), device_(device) {}

  std::vector<at::Tensor> forward(const std::vector<at::Tensor>& inputs) override {
    from_ = inputs[0].device();
    return {at::empty({0}, inputs[0].options().device(device_))};
  }

  std::vector<at::Tensor> backward(std::vector<at::Tensor> gradients) override {
    const at::NoGradGuard no_gradient;
    passed_();
    return {gradients[0].to(from_)};
  }

 private:
  std::function<void()> passed_;
  at::Device device_;
  at::Device from_ = at::kCPU;
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

void Chain::on_backward(std::function<void()> passed, at::Device device) {
  advance(detail::record(std::make_shared<MarkNode>(std::move(passed), device), {token(device)})[0]);
}

void Chain::begin_backward() {
  const at::NoGradGuard no_gradient;
  if (begun_) begun_();
}

}  // namespace riesz
