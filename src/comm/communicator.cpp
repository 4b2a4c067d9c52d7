// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <set>
#include <utility>

#include "riesz/comm/board.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/message_batch.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

std::unique_ptr<Communicator>& world_communicator() {
  static std::unique_ptr<Communicator> communicator;
  return communicator;
}

/// Half of the tags are for the program's rounds, half for the moves of teams.
constexpr int kHalf = kTags / 2;

int next(std::vector<unsigned>& taken, int peer) {
  const auto at = static_cast<std::size_t>(peer);
  if (taken.size() <= at) taken.resize(at + 1, 0);
  return static_cast<int>(taken[at]++ % (2U * kTags));
}

bool in_host_memory(const std::vector<Message>& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [](const Message& message) { return message.range.data.is_cpu(); });
}

std::vector<int> peers_of(const std::vector<Parcel>& parcels) {
  std::vector<int> peers;
  for (const Parcel& parcel : parcels) peers.push_back(parcel.peer);
  return peers;
}

std::vector<Message> addressed(std::vector<Parcel> parcels, const std::vector<int>& tags) {
  std::vector<Message> messages;
  messages.reserve(parcels.size());
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    messages.push_back({parcels[i].peer, tags[i], std::move(parcels[i].range)});
  }
  return messages;
}

void check_contiguous(const std::vector<Parcel>& parcels) {
  for (const Parcel& parcel : parcels) {
    RIESZ_CHECK(parcel.range.data.is_contiguous(), "a parcel for rank ", parcel.peer, " is not contiguous");
  }
}

at::Tensor flat(const Range& range) { return range.data.view({-1}).narrow(0, range.begin, range.count); }

/// Messages of tensors elsewhere than in host memory: what arrived there is copied on when all has.
class StagedExchange final : public Exchange {
 public:
  template <typename Post>
  StagedExchange(const Post& post, std::vector<Message> sends, std::vector<Message> receives) {
    for (Message& message : sends) message.range = Range(flat(message.range).cpu());
    std::vector<Message> staged;
    for (const Message& message : receives) {
      const at::Tensor destination = flat(message.range);
      arrivals_.emplace_back(destination,
                             at::empty_like(destination, destination.options().device(at::kCPU)));
      staged.push_back({message.peer, message.tag, arrivals_.back().second});
    }
    inner_ = post(std::move(sends), std::move(staged));
  }

  bool done() override {
    if (!inner_->done()) return false;
    for (auto& [destination, buffer] : arrivals_) destination.copy_(buffer);
    arrivals_.clear();
    return true;
  }

  std::vector<int> unfinished() const override { return inner_->unfinished(); }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> arrivals_;
  std::unique_ptr<Exchange> inner_;
};

void finish(const Operation& operation, Exchange& exchange) {
  wait_until(
      operation.text, [&] { return exchange.done(); }, [&] { return exchange.unfinished(); });
}

}  // namespace

Communicator& Communicator::world() {
  RIESZ_CHECK(world_communicator() != nullptr,
              "Communicator::world: no Runtime is alive; make one in main, before any partition or operator");
  return *world_communicator();
}

std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator) {
  return std::exchange(world_communicator(), std::move(communicator));
}

Communicator::Communicator(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {}

Tags Communicator::take_tags(const std::vector<int>& send_peers, const std::vector<int>& receive_peers) {
  const std::lock_guard lock(mutex_);
  Tags tags;
  for (const int peer : send_peers) tags.sends.push_back(next(sent_, peer) % kHalf);
  for (const int peer : receive_peers) tags.receives.push_back(next(received_, peer) % kHalf);
  if (!fingerprints()) return tags;
  std::set<int> peers(send_peers.begin(), send_peers.end());
  peers.insert(receive_peers.begin(), receive_peers.end());
  for (const int peer : peers) {
    const int number = next(rounds_, peer);
    tags.rounds.push_back({peer, number, kTags + number % kHalf});
  }
  return tags;
}

std::unique_ptr<Exchange> Communicator::post(const Operation& operation, const Tags& tags,
                                             std::vector<Parcel> sends, std::vector<Parcel> receives) {
  Traffic traffic;
  MessageBatch* batch = MessageBatch::current();
  for (const Parcel& parcel : sends)
    traffic += {parcel.range.count, parcel.range.bytes(), batch == nullptr ? 1 : 0};
  Counters::instance().add(operation, traffic);
  if (batch != nullptr) return batch->keep(std::move(sends), std::move(receives));
  return post_uncounted(operation, tags, std::move(sends), std::move(receives));
}

std::unique_ptr<Exchange> Communicator::post_uncounted(const Operation& operation, const Tags& tags,
                                                       std::vector<Parcel> sends,
                                                       std::vector<Parcel> receives) {
  Board::enter(operation.text);
  return post_messages(operation.text, tags.rounds, addressed(std::move(sends), tags.sends),
                       addressed(std::move(receives), tags.receives));
}

std::unique_ptr<Exchange> Communicator::post_messages(const std::string& operation,
                                                      const std::vector<Round>& checks,
                                                      std::vector<Message> sends,
                                                      std::vector<Message> receives) {
  const bool staged = !in_host_memory(sends) || !in_host_memory(receives);
  const auto post_host = [&](std::vector<Message> from_host, std::vector<Message> to_host) {
    return checks.empty() || !transport_->has_peers()
               ? transport_->post(std::move(from_host), std::move(to_host))
               : post_checked(*transport_, operation, checks, std::move(from_host), std::move(to_host));
  };
  if (staged) return std::make_unique<StagedExchange>(post_host, std::move(sends), std::move(receives));
  return post_host(std::move(sends), std::move(receives));
}

std::vector<Round> Communicator::number_move(const std::vector<int>& peers, std::uint64_t digest) {
  const std::lock_guard lock(mutex_);
  std::vector<Round> move;
  for (const int peer : peers) {
    const int number = next(moves_, peer);
    move.push_back({peer, number, kTags + kHalf + number % kHalf, digest});
  }
  return move;
}

std::unique_ptr<Exchange> Communicator::post_leg(const std::string& operation, const std::vector<Round>& move,
                                                 int leg, std::vector<Parcel> sends,
                                                 std::vector<Parcel> receives) {
  const auto tags = [&](const std::vector<Parcel>& parcels) {
    std::vector<int> taken;
    for (const Parcel& parcel : parcels) {
      const auto round =
          std::find_if(move.begin(), move.end(), [&](const Round& each) { return each.peer == parcel.peer; });
      taken.push_back(kHalf + (2 * (round->number % kHalf) + leg) % kHalf);
    }
    return taken;
  };
  const std::vector<int> out = tags(sends);
  const std::vector<int> in = tags(receives);
  return post_messages(operation, leg == 0 ? move : std::vector<Round>{}, addressed(std::move(sends), out),
                       addressed(std::move(receives), in));
}

void Communicator::exchange(const Operation& operation, std::vector<Parcel> sends,
                            std::vector<Parcel> receives) {
  const MessageBatch::Pause alone;
  const auto empty = [](const Parcel& parcel) { return parcel.range.count == 0; };
  check_contiguous(sends);
  check_contiguous(receives);
  std::erase_if(sends, empty);
  std::erase_if(receives, empty);
  if (sends.empty() && receives.empty()) return;
  const Tags tags = take_tags(peers_of(sends), peers_of(receives));
  finish(operation, *post(operation, tags, std::move(sends), std::move(receives)));
}

void Communicator::exchange_packed(const Operation& operation, std::vector<Parcel> sends,
                                   std::vector<Parcel> receives) {
  if (sends.empty() && receives.empty()) return;
  Counters::instance().add(operation, {0, 0, static_cast<std::int64_t>(sends.size())});
  const Tags tags = take_tags(peers_of(sends), peers_of(receives));
  finish(operation, *post_uncounted(operation, tags, std::move(sends), std::move(receives)));
}

}  // namespace riesz
