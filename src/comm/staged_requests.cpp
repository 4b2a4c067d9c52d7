// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/staged_requests.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "riesz/comm/progress/background.h"

namespace riesz {
namespace {

std::atomic<int> departures_waiting = 0;

at::Tensor flat(const TensorSpan& span) { return span.data.view({-1}).narrow(0, span.begin, span.count); }

at::Tensor pinned_as(const at::Tensor& x) {
  return at::empty(x.sizes(), at::TensorOptions().dtype(x.dtype()).pinned_memory(true));
}

/// The stream of those that are on a device; at least one is.
DeviceStream stream_of(const std::vector<Message>& sends, const std::vector<Message>& receives) {
  for (const auto* messages : {&sends, &receives}) {
    for (const Message& message : *messages) {
      if (!message.span.data.is_cpu()) return DeviceStream(message.span.data.device());
    }
  }
  return {};
}

/// Posts messages that nobody waits for, once they are copied. What becomes of them then is the transport's.
class DepartsAlone final : public BackgroundTask {
 public:
  DepartsAlone(std::weak_ptr<Transport> transport, Departures departures)
      : transport_(std::move(transport)), departures_(std::move(departures)) {}

 private:
  bool progress() override {
    const std::shared_ptr<Transport> transport = transport_.lock();
    return !transport || departures_.post(*transport) != nullptr;
  }
  const std::string& operation() const override {
    static const std::string text = "messages that are copied out of a device";
    return text;
  }
  std::vector<int> waits_for() const override { return {}; }

  std::weak_ptr<Transport> transport_;
  Departures departures_;
};

}  // namespace

Departures::Departures(std::vector<Message> sends) : messages_(std::move(sends)) {
  for (std::size_t i = 0; i < messages_.size(); ++i) {
    const TensorSpan& span = messages_[i].span;
    if (!span.data.is_cpu()) copies_.push_back({i, LateValue(flat(span))});
  }
  ++departures_waiting;
  if (!copies_.empty()) look_soon_in_background();
}

Departures::~Departures() {
  if (!posted_) --departures_waiting;
}

Departures::Departures(Departures&& other) noexcept
    : messages_(std::move(other.messages_)),
      copies_(std::move(other.copies_)),
      posted_(std::exchange(other.posted_, true)) {}

std::unique_ptr<Requests> Departures::post(Transport& transport) {
  if (posted_) return nullptr;  // a transport has refused them
  for (const Copy& each : copies_) {
    if (!each.copy.ready()) return nullptr;
  }
  for (const Copy& each : copies_) messages_[each.message].span = TensorSpan(each.copy.wait());
  copies_.clear();
  posted_ = true;
  --departures_waiting;
  return transport.post(std::exchange(messages_, {}), {});
}

int Departures::waiting() { return departures_waiting.load(std::memory_order_relaxed); }

StagedRequests::StagedRequests(const std::shared_ptr<Transport>& transport, std::vector<Message> sends,
                               std::vector<Message> receives)
    : transport_(transport), stream_(stream_of(sends, receives)), departures_(std::move(sends)) {
  for (Message& message : receives) {
    if (message.span.data.is_cpu()) continue;
    const at::Tensor there = flat(message.span);
    arrivals_.push_back({there, pinned_as(there)});
    message.span = TensorSpan(arrivals_.back().here);
  }
  receives_ = transport->post({}, std::move(receives));
  post_departures();
}

void StagedRequests::post_departures() {
  if (const std::shared_ptr<Transport> transport = transport_.lock()) sends_ = departures_.post(*transport);
}

StagedRequests::~StagedRequests() {
  if (departures_.posted() || transport_.expired()) return;
  try {
    run_in_background(std::make_shared<DepartsAlone>(transport_, std::move(departures_)));
  } catch (...) {  // no thread can be started: an error is under way already
  }
}

bool StagedRequests::done() {
  if (!sends_) post_departures();
  const bool all_came = receives_->done();
  if (!sends_ || !sends_->done() || !all_came) return false;
  const at::NoGradGuard no_gradient;
  const DeviceStream::Scope queued(stream_);
  for (const auto& [there, here] : arrivals_) there.copy_(here, /*non_blocking=*/true);
  arrivals_.clear();
  return true;
}

std::vector<int> StagedRequests::unfinished() const {
  std::vector<int> peers = receives_->unfinished();
  for (const Message& message : departures_.messages()) peers.push_back(message.peer);
  if (sends_) {
    for (const int peer : sends_->unfinished()) peers.push_back(peer);
  }
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace riesz
