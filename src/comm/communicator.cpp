// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/communicator.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <set>
#include <utility>

#include "riesz/comm/channel.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/device_order.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/progress/background_send.h"
#include "riesz/comm/recording/recorder.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/staged_requests.h"
#include "riesz/comm/status_board.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

std::unique_ptr<Communicator>& world_communicator() {
  static std::unique_ptr<Communicator> communicator;
  return communicator;
}

/// The transport's channels: for introductions, for the program's channel and for that of a team's buffer.
/// The last one is `DeviceOrder`'s.
constexpr int kHostAllgathers = 0;
int of_program(int channel) { return 2 * channel + 1; }
int of_moves(int buffer) { return 2 * buffer + 2; }

/// The last is that of device rounds.
int channels_of_program(const Transport& transport) {
  return transport.channels() > 2 ? transport.channels() - 1 : transport.channels();
}

bool in_host_memory(const std::vector<Message>& messages) {
  return std::all_of(messages.begin(), messages.end(),
                     [](const Message& message) { return message.span.data.is_cpu(); });
}

int next(std::vector<unsigned>& taken, std::size_t peer) {
  if (taken.size() <= peer) taken.resize(peer + 1, 0);
  return static_cast<int>(taken[peer]++ % kNumbers);
}

c10::SmallVector<int, 8> peers_of(const std::vector<Transfer>& transfers) {
  c10::SmallVector<int, 8> peers;
  for (const Transfer& transfer : transfers) peers.push_back(transfer.peer);
  return peers;
}

std::vector<Message> addressed(const Operation& operation, int channel, c10::ArrayRef<int> numbers,
                               std::vector<Transfer> transfers) {
  std::vector<Message> messages;
  messages.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    Transfer& transfer = transfers[i];
    messages.push_back({transfer.peer,
                        {channel, numbers.at(i)},
                        std::move(transfer.span),
                        transfer.label ? std::move(transfer.label) : operation.label});
  }
  return messages;
}

/// What is sent are the bytes of its memory.
void check_plain(const Operation& operation, const std::vector<Transfer>& transfers) {
  for (const Transfer& transfer : transfers) {
    RIESZ_CHECK(
        is_plain(transfer.span.data), operation.text, ": a transfer to or from rank ", transfer.peer,
        " is not contiguous, or a conjugate or negative that is put off; give resolved(x).contiguous()");
  }
}

/// Of messages that are queued on a device.
class QueuedRequests final : public Requests {
  bool done() override { return true; }
  std::vector<int> unfinished() const override { return {}; }
};

void finish(const Operation& operation, Requests& requests) {
  wait_until(
      operation.text, [&] { return requests.done(); }, [&] { return requests.unfinished(); });
}

}  // namespace

Traffic traffic_of(c10::ArrayRef<Transfer> sends) {
  Traffic sent;
  for (const Transfer& transfer : sends)
    sent += {transfer.span.count, transfer.span.bytes(), transfer.span.count > 0 ? 1 : 0};
  return sent;
}

Reservation::Reservation(Communicator& communicator, c10::ArrayRef<int> send_peers,
                         c10::ArrayRef<int> receive_peers)
    : Reservation(communicator, communicator.channel_here(), send_peers, receive_peers) {}

Reservation::Reservation(Communicator& communicator, int channel, c10::ArrayRef<int> send_peers,
                         c10::ArrayRef<int> receive_peers)
    : communicator_(&communicator), channel_(channel), sends_(send_peers.size()) {
  const std::lock_guard lock(communicator.mutex_);
  Communicator::Taken& taken = communicator.taken_in(channel);
  const std::vector<char>& near = communicator.goes_now_;
  const auto take = [&](c10::ArrayRef<int> peers, std::vector<unsigned>& numbers) {
    for (const int peer : peers) {
      const auto at = static_cast<std::size_t>(peer);
      numbers_.push_back(next(numbers, at));
      goes_now_ = goes_now_ && at < near.size() && near[at] != 0;
    }
  };
  take(send_peers, taken.sends);
  take(receive_peers, taken.receives);
}

void Reservation::enter(const Operation& operation, const std::vector<Transfer>& sends,
                        const std::vector<Transfer>& receives, Counted counted) const {
  check_plain(operation, sends);
  check_plain(operation, receives);
  if (counted == Counted::begun) return;
  if (!sends.empty() || !receives.empty()) StatusBoard::enter(operation.text);
  if (counted == Counted::sent) Counters::instance().add(operation, traffic_of(sends));
}

std::unique_ptr<Requests> Reservation::posted(const Operation& operation, std::vector<Transfer> sends,
                                              std::vector<Transfer> receives, const CallTeam& team) const {
  return communicator_->post(addressed(operation, channel_, this->sends(), std::move(sends)),
                             addressed(operation, channel_, this->receives(), std::move(receives)), team);
}

std::unique_ptr<Requests> Reservation::post(const Operation& operation, std::vector<Transfer> sends,
                                            std::vector<Transfer> receives, Counted counted,
                                            const CallTeam& team) const {
  enter(operation, sends, receives, counted);
  return posted(operation, std::move(sends), std::move(receives), team);
}

std::unique_ptr<Requests> Reservation::send(const Operation& operation, std::vector<Transfer> sends,
                                            std::vector<Transfer> receives, Counted counted) const {
  enter(operation, sends, receives, counted);
  std::unique_ptr<Requests> arriving;
  if (!receives.empty()) arriving = posted(operation, {}, std::move(receives), nullptr);
  if (sends.empty()) return arriving;
  const std::int64_t bytes = traffic_of(sends).bytes;
  send_in_background(operation.text, bytes, posted(operation, std::move(sends), {}, nullptr));
  return arriving;
}

void Reservation::post(const Operation& operation, DeviceTransport& transport, const CallTeam& team,
                       LibraryCollective collective, const TensorSpan& from, const TensorSpan& to,
                       std::vector<Transfer> sends, std::vector<Transfer> receives,
                       const Traffic& sent) const {
  begin(operation, sent);
  std::unique_lock<std::mutex> order;
  if (transport.compares() && !(sends.empty() && receives.empty()))
    order = communicator_->device_order_->compare(
        *communicator_->transport_, addressed(operation, channel_, this->sends(), std::move(sends)),
        addressed(operation, channel_, this->receives(), std::move(receives)));
  transport.post(team, collective, from, to, operation.text);
}

void Reservation::begin(const Operation& operation, const Traffic& sent) const {
  StatusBoard::enter(operation.text);
  Counters::instance().add(operation, sent);
}

void Reservation::prefetch_awaited(int peer) const { communicator_->transport_->prefetch_awaited(peer); }

bool Reservation::send_now(std::size_t message, int peer, const Signature& signature,
                           const Transport::Pack& pack) const {
  return communicator_->transport_->send_now(peer, {channel_, numbers_[message]}, signature, pack);
}

bool Reservation::receive_now(std::size_t message, int peer, const Signature& expected,
                              const Transport::Unpack& unpack) const {
  return communicator_->transport_->receive_now(peer, {channel_, numbers_[sends_ + message]}, expected,
                                                unpack);
}

Reservation Reservation::some(const std::vector<bool>& sends, const std::vector<bool>& receives) const {
  Reservation chosen = *this;
  const auto choose = [&](c10::ArrayRef<int> from, const std::vector<bool>& which) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (which.at(i)) chosen.numbers_.push_back(from[i]);
    }
  };
  chosen.numbers_.clear();
  choose(this->sends(), sends);
  chosen.sends_ = chosen.numbers_.size();
  choose(this->receives(), receives);
  return chosen;
}

bool Reservation::lives() const { return communicator_ == world_communicator().get(); }

Communicator& Communicator::world() {
  RIESZ_CHECK(world_communicator() != nullptr,
              "Communicator::world: no Runtime is alive; make one in main, before any partition or operator");
  return *world_communicator();
}

std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator) {
  wake_background_by(communicator ? communicator->doorbell() : nullptr);
  return std::exchange(world_communicator(), std::move(communicator));
}

/// Those of the buffers that this worker is a member of.
struct Communicator::TeamChannels {
  std::mutex mutex;
  std::set<int> alive;
};

Communicator::Communicator(std::unique_ptr<Transport> transport)
    : transport_(std::move(transport)),
      device_order_(std::make_shared<DeviceOrder>()),
      channels_(channels_of_program(*transport_)),
      team_channels_(std::make_shared<TeamChannels>()) {
  for (int rank = 0; rank < Runtime::size(); ++rank) goes_now_.push_back(transport_->goes_now(rank));
}

Communicator::Taken& Communicator::taken_in(int channel) {
  const auto at = static_cast<std::size_t>(channel);
  if (at < taken_.size()) return taken_[at];
  taken_.resize(at + 1);
  return taken_.back();
}

int Communicator::channel_here() const {
  const int channel = of_program(current_channel());
  RIESZ_CHECK(channel < channels_, "messages in channel ", current_channel(), ": the transport tells ",
              channels_ / 2, " channels apart, 0 first (MPI_TAG_UB bounds them); number the channels lower");
  return channel;
}

Reservation Communicator::reserve(c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers) {
  return {*this, send_peers, receive_peers};
}

Reservation Communicator::reserve(const TeamChannel& channel, c10::ArrayRef<int> send_peers,
                                  c10::ArrayRef<int> receive_peers) {
  return {*this, *channel, send_peers, receive_peers};
}

void Communicator::set_device_transport(std::unique_ptr<DeviceTransport> transport) {
  device_transport_ = std::move(transport);
}

DeviceTransport* Communicator::device_transport(at::Device device, const CallTeam& team,
                                                const std::string& operation) const {
  if (device_transport_ == nullptr || team == nullptr || device.type() != device_transport_->type() ||
      team->size() == 1)
    return nullptr;
  return device_transport_->carries(team, operation) ? device_transport_.get() : nullptr;
}

bool Communicator::goes_by_device(const std::vector<Message>& sends, const std::vector<Message>& receives,
                                  const CallTeam& team) const {
  if (device_transport_ == nullptr || team == nullptr) return false;
  for (const auto* messages : {&sends, &receives}) {
    for (const Message& message : *messages) {
      if (message.span.data.device().type() != device_transport_->type()) return false;
    }
  }
  return device_transport_->carries(team, (sends.empty() ? receives : sends).front().label->text());
}

std::unique_ptr<Requests> Communicator::post(std::vector<Message> sends, std::vector<Message> receives,
                                             const CallTeam& team) {
  if (in_host_memory(sends) && in_host_memory(receives))
    return transport_->post(std::move(sends), std::move(receives));
  if (goes_by_device(sends, receives, team)) {
    std::unique_lock<std::mutex> order;
    if (device_transport_->compares()) order = device_order_->compare(*transport_, sends, receives);
    const auto empty = [](const Message& message) { return message.span.count == 0; };
    std::erase_if(sends, empty);
    std::erase_if(receives, empty);
    if (!sends.empty() || !receives.empty()) device_transport_->post(team, sends, receives);
    return std::make_unique<QueuedRequests>();
  }
  return std::make_unique<StagedRequests>(transport_, std::move(sends), std::move(receives));
}

TeamChannel Communicator::new_team_channel(const Operation& operation, const std::vector<int>& peers) {
  // Behind all that a member has: so it is nobody's, and what buffers had that are gone is used again.
  std::int64_t number = 0;
  {
    const std::lock_guard lock(team_channels_->mutex);
    if (!team_channels_->alive.empty()) number = *team_channels_->alive.rbegin() + 1;
  }
  const at::Tensor mine = at::empty({1}, at::kLong).fill_(number);
  for (const at::Tensor& theirs : host_allgather(operation, peers, mine))
    number = std::max(number, host_value(theirs, number));
  const int most = (channels_ - 1) / 2;
  RIESZ_CHECK(number < most, operation.text, ": a team across hosts has ", number,
              " buffers or more already, and the transport tells ", most,
              " apart (MPI_TAG_UB bounds them); make fewer, such as with a larger ZeroOptions::bucket");
  const std::lock_guard lock(team_channels_->mutex);
  team_channels_->alive.insert(static_cast<int>(number));
  if (Recorder* recorder = Recorder::current())
    recorder->made_channel(of_moves(static_cast<int>(number)), peers);
  const auto gone = [all = team_channels_](const int* channel) {
    {
      const std::lock_guard guard(all->mutex);
      all->alive.erase((*channel - of_moves(0)) / 2);
    }
    delete channel;
  };
  return {new int(of_moves(static_cast<int>(number))), gone};
}

std::vector<at::Tensor> Communicator::host_allgather(const Operation& operation,
                                                     const std::vector<int>& peers, const at::Tensor& mine,
                                                     const TeamChannel& channel) {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  std::vector<at::Tensor> theirs;
  for (const int peer : peers) {
    theirs.push_back(at::empty_like(mine));
    sends.push_back({peer, mine});
    receives.push_back({peer, theirs.back()});
  }
  const Reservation round(*this, channel ? *channel : kHostAllgathers, peers, peers);
  finish(operation, *round.post(operation, std::move(sends), std::move(receives), Counted::nothing));
  return theirs;
}

void Communicator::exchange(const Operation& operation, std::vector<Transfer> sends,
                            std::vector<Transfer> receives, const CallTeam& team) {
  const auto empty = [](const Transfer& transfer) { return transfer.span.count == 0; };
  check_plain(operation, sends);  // before anything is reserved
  check_plain(operation, receives);
  std::erase_if(sends, empty);
  std::erase_if(receives, empty);
  if (sends.empty() && receives.empty()) return;
  const Reservation round = reserve(peers_of(sends), peers_of(receives));
  finish(operation, *round.post(operation, std::move(sends), std::move(receives), Counted::sent, team));
}

}  // namespace riesz
