// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/chain.h"

#include <ATen/ops/zeros.h>

#include <utility>

namespace riesz {
namespace {

thread_local Chain* innermost = nullptr;

}  // namespace

Chain::Chain() : outer_(std::exchange(innermost, this)) {}

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
}

}  // namespace riesz
