// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/chain.h"

#include <ATen/SequenceNumber.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/primitives/node.h"

namespace riesz {
namespace {

thread_local Chain* innermost = nullptr;

/// A thread at its end leaves what it is in.
struct Leaver {
  ~Leaver() {
    while (innermost != nullptr) innermost->leave();
  }
};

/// Autograd goes back through a graph by its nodes' numbers, which each thread counts for itself: this one
/// counts on from there.
void number_on_from(std::uint64_t number) {
  while (at::sequence_number::peek() < number) at::sequence_number::get_and_increment();
}

std::shared_ptr<const std::uint64_t> next_tape() {
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

Chain::Chain(int channel) : channel_(channel), tape_(next_tape()) {
  if (innermost != nullptr && innermost->in_backward_) {
    pass_ = innermost->pass();
    recomputes_ = true;
  }
  enter();
}

Chain::Chain(int channel, const std::shared_ptr<const std::uint64_t>& pass)
    : channel_(channel), tape_(next_tape()), pass_(pass) {
  enter();
}

Chain::~Chain() {
  const void* thread = thread_;
  if (thread == &innermost) leave();
  if (thread != nullptr && thread != &innermost)
    end_job("a riesz::Chain is destroyed while another thread is in it; leave() it there before");
}

Chain* Chain::current() { return innermost; }

void Chain::enter() {
  thread_local const Leaver at_the_end;
  const void* nobody = nullptr;
  RIESZ_CHECK(thread_.compare_exchange_strong(nobody, &innermost),
              "Chain::enter: ", nobody == &innermost ? "this thread" : "another thread",
              " is in it already; leave() it there before");
  outer_channel_ = change_channel(channel_);
  outer_ = std::exchange(innermost, this);
  number_on_from(numbered_);
  entered_at_ = at::sequence_number::peek();
}

void Chain::leave() {
  RIESZ_CHECK(thread_ == &innermost, "Chain::leave: this thread is not in it");
  const std::uint64_t now = at::sequence_number::peek();
  if (now > entered_at_) numbered_ = now;
  unlink();
  thread_ = nullptr;
}

Chain::Scope::~Scope() {
  if (chain_.thread_ == &innermost) chain_.leave();
}

/// The one that was entered next, if any, is now inside of what this one was in.
void Chain::unlink() {
  if (innermost == this) {
    innermost = outer_;
    change_channel(outer_channel_);
    return;
  }
  Chain* next = innermost;
  while (next->outer_ != this) next = next->outer_;
  next->outer_ = outer_;
  next->outer_channel_ = outer_channel_;
}

at::Tensor Chain::head(at::Device device) {
  if (!head_.defined()) {
    head_ = detail::beginning(at::TensorOptions().dtype(at::kFloat).device(device));
    token_ = head_;
  }
  return head_;
}

at::Tensor Chain::token(at::Device device) {
  head(device);
  return token_;
}

void Chain::advance(at::Tensor token) { token_ = std::move(token); }

void Chain::reaches(const Partition& workers) {
  if (std::find(reached_.begin(), reached_.end(), workers) == reached_.end()) reached_.push_back(workers);
}

void Chain::restart() {
  reached_.clear();
  head_.reset();
  token_.reset();
  begun_.clear();
  in_backward_ = false;
  tape_ = next_tape();
}

std::shared_ptr<const std::uint64_t> Chain::new_pass() { return next_tape(); }

std::shared_ptr<const std::uint64_t> Chain::pass() const {
  const auto other = pass_.lock();
  return other ? other : tape_;
}

void Chain::on_backward(std::function<void()> passed, at::Device device) {
  advance(detail::record(std::make_shared<MarkNode>(std::move(passed), device), {token(device)})[0]);
}

void Chain::before_backward(const void* owner, std::function<void()> begun) {
  const auto found =
      std::find_if(begun_.begin(), begun_.end(), [&](const auto& each) { return each.first == owner; });
  if (found == begun_.end())
    begun_.emplace_back(owner, std::move(begun));
  else
    found->second = std::move(begun);
}

void Chain::begin_backward() {
  const at::NoGradGuard no_gradient;
  for (const auto& [owner, begun] : begun_) begun();
  in_backward_ = true;
}

}  // namespace riesz
