// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/staged_requests.h"

#include <ATen/ops/empty_like.h>

namespace riesz {
namespace {

at::Tensor flat(const TensorSpan& span) { return span.data.view({-1}).narrow(0, span.begin, span.count); }

}  // namespace

StagedRequests::StagedRequests(Transport& transport, std::vector<Message> sends,
                               const std::vector<Message>& receives) {
  for (Message& message : sends) message.span = TensorSpan(flat(message.span).cpu());
  std::vector<Message> staged;
  for (const Message& message : receives) {
    const at::Tensor destination = flat(message.span);
    arrivals_.emplace_back(destination,
                           at::empty_like(destination, destination.options().device(at::kCPU)));
    staged.push_back({message.peer, message.key, arrivals_.back().second, message.label});
  }
  inner_ = transport.post(std::move(sends), std::move(staged));
}

bool StagedRequests::done() {
  if (!inner_->done()) return false;
  for (auto& [destination, buffer] : arrivals_) destination.copy_(buffer);
  arrivals_.clear();
  return true;
}

}  // namespace riesz
