// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/staged_requests.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

namespace riesz {
namespace {

at::Tensor flat(const TensorSpan& span) { return span.data.view({-1}).narrow(0, span.begin, span.count); }

at::Tensor pinned_as(const at::Tensor& x) {
  return at::empty(x.sizes(), at::TensorOptions().dtype(x.dtype()).pinned_memory(true));
}

}  // namespace

StagedRequests::StagedRequests(Transport& transport, std::vector<Message> sends,
                               std::vector<Message> receives)
    : transport_(transport), unsent_(std::move(sends)) {
  for (std::size_t i = 0; i < unsent_.size(); ++i) {
    const TensorSpan& span = unsent_[i].span;
    if (!span.data.is_cpu()) departures_.push_back({i, LateValue(flat(span))});
  }
  for (Message& message : receives) {
    if (message.span.data.is_cpu()) continue;
    const at::Tensor there = flat(message.span);
    arrivals_.push_back({there, pinned_as(there)});
    message.span = TensorSpan(arrivals_.back().here);
  }
  receives_ = transport_.post({}, std::move(receives));
  send_what_is_copied();
}

void StagedRequests::send_what_is_copied() {
  for (const Departure& each : departures_) {
    if (!each.copy.ready()) return;
  }
  for (const Departure& each : departures_) unsent_[each.message].span = TensorSpan(each.copy.wait());
  departures_.clear();
  sends_ = transport_.post(std::exchange(unsent_, {}), {});
}

bool StagedRequests::done() {
  if (!sends_) send_what_is_copied();
  const bool all_came = receives_->done();
  if (!sends_ || !sends_->done() || !all_came) return false;
  const at::NoGradGuard no_gradient;
  for (const auto& [there, here] : arrivals_) there.copy_(here, /*non_blocking=*/true);
  arrivals_.clear();
  return true;
}

std::vector<int> StagedRequests::unfinished() const {
  std::vector<int> peers = receives_->unfinished();
  for (const Message& message : unsent_) peers.push_back(message.peer);
  if (sends_) {
    for (const int peer : sends_->unfinished()) peers.push_back(peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace riesz
