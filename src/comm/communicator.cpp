// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <set>
#include <utility>

#include "riesz/comm/board.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/departure.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/part_taken.h"
#include "riesz/comm/progress.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/stream.h"
#include "riesz/comm/transcript.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

std::unique_ptr<Communicator>& world_communicator() {
  static std::unique_ptr<Communicator> communicator;
  return communicator;
}

/// The transport's streams: for introductions, for the program's stream and for that of a team's buffer.
constexpr int kIntroductions = 0;
int of_program(int stream) { return 2 * stream + 1; }
int of_moves(int buffer) { return 2 * buffer + 2; }

int next(std::vector<unsigned>& taken, int peer) {
  const auto at = static_cast<std::size_t>(peer);
  if (taken.size() <= at) taken.resize(at + 1, 0);
  return static_cast<int>(taken[at]++ % kNumbers);
}

bool in_host_memory(const std::vector<Message>& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [](const Message& message) { return message.range.data.is_cpu(); });
}

c10::SmallVector<int, 8> peers_of(const std::vector<Parcel>& parcels) {
  c10::SmallVector<int, 8> peers;
  for (const Parcel& parcel : parcels) peers.push_back(parcel.peer);
  return peers;
}

std::vector<Message> addressed(const Operation& operation, int channel, c10::ArrayRef<int> numbers,
                               std::vector<Parcel> parcels) {
  std::vector<Message> messages;
  messages.reserve(parcels.size());
  for (std::size_t i = 0; i < parcels.size(); ++i) {
    Parcel& parcel = parcels[i];
    messages.push_back({parcel.peer,
                        {channel, numbers.at(i)},
                        std::move(parcel.range),
                        parcel.label ? std::move(parcel.label) : operation.label,
                        std::move(parcel.arrived)});
  }
  return messages;
}

/// What is sent are the bytes of its memory.
void check_plain(const Operation& operation, const std::vector<Parcel>& parcels) {
  for (const Parcel& parcel : parcels) {
    RIESZ_CHECK(
        is_plain(parcel.range.data), operation.text, ": a parcel to or from rank ", parcel.peer,
        " is not contiguous, or a conjugate or negative that is put off; give resolved(x).contiguous()");
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
      staged.push_back({message.peer, message.key, arrivals_.back().second, message.label});
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

Traffic traffic_of(c10::ArrayRef<Parcel> sends) {
  Traffic sent;
  for (const Parcel& parcel : sends)
    sent += {parcel.range.count, parcel.range.bytes(), parcel.range.count > 0 ? 1 : 0};
  return sent;
}

std::unique_ptr<Exchange> Reservation::post(const Operation& operation, std::vector<Parcel> sends,
                                            std::vector<Parcel> receives, Count count) const {
  check_plain(operation, sends);
  check_plain(operation, receives);
  if (count == Count::sent) Counters::instance().add(operation, traffic_of(sends));
  return communicator_->post(addressed(operation, channel_, sends_, std::move(sends)),
                             addressed(operation, channel_, receives_, std::move(receives)));
}

void Reservation::send(const Operation& operation, std::vector<Parcel> sends, Count count) const {
  const std::int64_t bytes = traffic_of(sends).bytes;
  depart(operation.text, bytes, post(operation, std::move(sends), {}, count));
}

Reservation Reservation::some(const std::vector<bool>& sends, const std::vector<bool>& receives) const {
  Reservation chosen = *this;
  const auto choose = [](Numbers& to, const Numbers& from, const std::vector<bool>& which) {
    to.clear();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (which.at(i)) to.push_back(from[i]);
    }
  };
  choose(chosen.sends_, sends_, sends);
  choose(chosen.receives_, receives_, receives);
  return chosen;
}

Communicator& Communicator::world() {
  RIESZ_CHECK(world_communicator() != nullptr,
              "Communicator::world: no Runtime is alive; make one in main, before any partition or operator");
  return *world_communicator();
}

std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator) {
  wake_background_by(communicator ? communicator->bell() : nullptr);
  return std::exchange(world_communicator(), std::move(communicator));
}

/// Those of the buffers that this worker is a member of.
struct Communicator::MoveStreams {
  std::mutex mutex;
  std::set<int> alive;
};

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)), move_streams_(std::make_shared<MoveStreams>()) {}

Communicator::Taken& Communicator::taken_in(int channel) {
  const auto at = static_cast<std::size_t>(channel);
  if (at < taken_.size()) return taken_[at];
  taken_.resize(at + 1);
  return taken_.back();
}

Reservation Communicator::reserve(c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers) {
  take_part();
  const int channel = of_program(current_stream());
  RIESZ_CHECK(channel < transport_->streams(), "messages in stream ", current_stream(),
              ": the transport tells ", transport_->streams() / 2,
              " streams apart, 0 first (MPI_TAG_UB bounds them); number the streams lower");
  return reserve_in(channel, send_peers, receive_peers);
}

Reservation Communicator::reserve(const MoveStream& stream, c10::ArrayRef<int> send_peers,
                                  c10::ArrayRef<int> receive_peers) {
  return reserve_in(*stream, send_peers, receive_peers);
}

Reservation Communicator::reserve_in(int channel, c10::ArrayRef<int> send_peers,
                                     c10::ArrayRef<int> receive_peers) {
  Reservation reservation;
  reservation.communicator_ = this;
  reservation.channel_ = channel;
  const std::lock_guard lock(mutex_);
  Taken& taken = taken_in(channel);
  for (const int peer : send_peers) reservation.sends_.push_back(next(taken.sends, peer));
  for (const int peer : receive_peers) reservation.receives_.push_back(next(taken.receives, peer));
  return reservation;
}

std::unique_ptr<Exchange> Communicator::post(std::vector<Message> sends, std::vector<Message> receives) {
  if (in_host_memory(sends) && in_host_memory(receives))
    return transport_->post(std::move(sends), std::move(receives));
  const auto post_host = [&](std::vector<Message> from_host, std::vector<Message> to_host) {
    return transport_->post(std::move(from_host), std::move(to_host));
  };
  return std::make_unique<StagedExchange>(post_host, std::move(sends), std::move(receives));
}

MoveStream Communicator::new_move_stream(const Operation& operation, const std::vector<int>& peers) {
  // Behind all that a member has: so it is nobody's, and what buffers had that are gone is used again.
  std::int64_t number = 0;
  {
    const std::lock_guard lock(move_streams_->mutex);
    if (!move_streams_->alive.empty()) number = *move_streams_->alive.rbegin() + 1;
  }
  const at::Tensor mine = at::empty({1}, at::kLong).fill_(number);
  for (const at::Tensor& theirs : introduce(operation, peers, mine))
    number = std::max(number, host_value(theirs, number));
  const int most = (transport_->streams() - 1) / 2;
  RIESZ_CHECK(number < most, operation.text, ": a team across hosts has ", number,
              " buffers or more already, and the transport tells ", most,
              " apart (MPI_TAG_UB bounds them); make fewer, such as with a larger ZeroOptions::bucket");
  const std::lock_guard lock(move_streams_->mutex);
  move_streams_->alive.insert(static_cast<int>(number));
  if (Recorder* recorder = Recorder::current())
    recorder->made_stream(of_moves(static_cast<int>(number)), peers);
  const auto gone = [all = move_streams_](const int* stream) {
    {
      const std::lock_guard guard(all->mutex);
      all->alive.erase((*stream - of_moves(0)) / 2);
    }
    delete stream;
  };
  return {new int(of_moves(static_cast<int>(number))), gone};
}

std::vector<at::Tensor> Communicator::introduce(const Operation& operation, const std::vector<int>& peers,
                                                const at::Tensor& mine, const MoveStream& stream) {
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  std::vector<at::Tensor> theirs;
  for (const int peer : peers) {
    theirs.push_back(at::empty_like(mine));
    sends.push_back({peer, mine});
    receives.push_back({peer, theirs.back()});
  }
  const Reservation round = reserve_in(stream ? *stream : kIntroductions, peers, peers);
  finish(operation, *round.post(operation, std::move(sends), std::move(receives), Count::nothing));
  return theirs;
}

void Communicator::exchange(const Operation& operation, std::vector<Parcel> sends,
                            std::vector<Parcel> receives) {
  const auto empty = [](const Parcel& parcel) { return parcel.range.count == 0; };
  check_plain(operation, sends);  // before anything is reserved
  check_plain(operation, receives);
  std::erase_if(sends, empty);
  std::erase_if(receives, empty);
  if (sends.empty() && receives.empty()) return;
  Transcript::note(operation.label);
  const Reservation round = reserve(peers_of(sends), peers_of(receives));
  Board::enter(operation.text);
  finish(operation, *round.post(operation, std::move(sends), std::move(receives)));
}

}  // namespace riesz
