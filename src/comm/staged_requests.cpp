// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/staged_requests.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>

namespace riesz {
namespace {

at::Tensor flat(const TensorSpan& span) { return span.data.view({-1}).narrow(0, span.begin, span.count); }

at::Tensor pinned_as(const at::Tensor& x) {
  return at::empty(x.sizes(), at::TensorOptions().dtype(x.dtype()).pinned_memory(true));
}

void copy_later(const at::Tensor& from, const at::Tensor& to) { to.copy_(from, /*non_blocking=*/true); }

/// Events behind all that is queued in the current streams of some devices.
std::vector<c10::Event> recorded(const std::vector<at::Device>& devices) {
  std::vector<c10::Event> events;
  for (const at::Device device : devices)
    events.emplace_back(device.type()).record(c10::impl::VirtualGuardImpl(device.type()).getStream(device));
  return events;
}

}  // namespace

StagedRequests::StagedRequests(Transport& transport, std::vector<Message> sends,
                               std::vector<Message> receives)
    : transport_(transport) {
  const at::NoGradGuard no_gradient;
  std::vector<at::Device> devices;
  for (Message& message : sends) {
    const at::Tensor there = flat(message.span);
    if (there.is_cpu()) continue;
    const at::Tensor here = pinned_as(there);
    copy_later(there, here);
    message.span = TensorSpan(here);
    if (std::find(devices.begin(), devices.end(), there.device()) == devices.end())
      devices.push_back(there.device());
  }
  for (Message& message : receives) {
    const at::Tensor there = flat(message.span);
    if (there.is_cpu()) continue;
    arrivals_.push_back({there, pinned_as(there)});
    message.span = TensorSpan(arrivals_.back().here);
  }
  copied_ = recorded(devices);
  leaving_ = std::move(sends);
  receives_ = transport_.post({}, std::move(receives));
  send_what_is_copied();
}

void StagedRequests::send_what_is_copied() {
  if (sends_) return;
  const bool all =
      std::all_of(copied_.begin(), copied_.end(), [](const c10::Event& each) { return each.query(); });
  if (all) sends_ = transport_.post(std::exchange(leaving_, {}), {});
}

bool StagedRequests::done() {
  send_what_is_copied();
  const bool all_came = receives_->done();
  if (!sends_ || !sends_->done() || !all_came) return false;
  for (const auto& [there, here] : arrivals_) copy_later(here, there);
  arrivals_.clear();
  return true;
}

std::vector<int> StagedRequests::unfinished() const {
  std::vector<int> peers = receives_->unfinished();
  const auto add = [&](int peer) {
    if (std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
  };
  for (const Message& message : leaving_) add(message.peer);
  if (sends_) {
    for (const int peer : sends_->unfinished()) add(peer);
  }
  return peers;
}

}  // namespace riesz
