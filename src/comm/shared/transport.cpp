// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared/transport.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/doorbell.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared/lane.h"
#include "riesz/comm/shared/memory.h"
#include "riesz/comm/spin_lock.h"
#include "riesz/comm/transports/mpi_check.h"

namespace riesz {

/// Each worker makes the rings that lead away from it, one to each of `ranks` by place, and its doorbell:
/// behind their heads, which all map; what is in a ring only its reader maps.
struct SharedTransport::Impl {
  std::vector<std::shared_ptr<SharedMemory>> outboxes;  // by place
  std::vector<std::unique_ptr<SharedLane>> lanes;       // by place; nullptr: this worker itself
  std::shared_ptr<Doorbell> doorbell;                   // this worker's
  std::vector<int> place_of;                            // by world rank; −1: elsewhere
  SpinLock mutex;

  SharedLane& lane(int rank) const {
    return *lanes[static_cast<std::size_t>(place_of[static_cast<std::size_t>(rank)])];
  }

  /// All lanes, also where there is no memory for one. @throws Error then, in the end.
  void progress() const {
    std::exception_ptr failure;
    for (const auto& each : lanes) {
      if (each) progress(*each, failure);
    }
    if (failure) std::rethrow_exception(failure);
  }

  static void progress(SharedLane& lane, std::exception_ptr& failure) {
    try {
      lane.progress();
    } catch (...) {
      failure = std::current_exception();
    }
  }

  /// Gives a round to the lanes of its peers.
  void post(const std::shared_ptr<PostedRound>& round) const {
    Request* request = round->requests;
    for (Message& message : round->receives) lane(message.peer).receive(round, *request++);
    for (Message& message : round->sends) lane(message.peer).send(round, *request++);
    std::exception_ptr failure;
    for (const std::vector<Message>* messages : {&round->receives, &round->sends}) {
      for (const Message& message : *messages) progress(lane(message.peer), failure);
    }
    if (failure) std::rethrow_exception(failure);
  }

  void try_progress() {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock()) progress();
  }
};

namespace {

SharedRing::Head& head_of_ring(const SharedMemory& outbox, std::size_t to) {
  return reinterpret_cast<SharedRing::Head*>(outbox.data())[to];
}

Doorbell* doorbell_of(const SharedMemory& outbox) {
  return reinterpret_cast<Doorbell*>(outbox.data() + outbox.bytes() - sizeof(Doorbell));
}

/// Of this worker's outbox, to the member of that place and rank.
SharedRing ring_to(const std::shared_ptr<SharedMemory>& outbox, std::size_t to, int rank) {
  const std::size_t first = to * SharedRing::kBytes;
  return {head_of_ring(*outbox, to), outbox->reserved() + first,
          [outbox, first, rank](std::size_t begin, std::size_t end) {
            outbox->commit({first + begin, end - begin},
                           [rank] { return concat(" for messages to rank ", rank); });
          }};
}

/// Its requests are sent and received even after it is gone.
class SharedRequests final : public Requests {
 public:
  SharedRequests(const std::shared_ptr<SharedTransport::Impl>& transport, std::shared_ptr<PostedRound> round)
      : transport_(transport), round_(std::move(round)) {
    const std::lock_guard lock(transport_->mutex);
    transport_->post(round_);
  }

  SharedRequests(const SharedRequests&) = delete;
  SharedRequests& operator=(const SharedRequests&) = delete;

  bool done() override {
    if (!arrived() && !round_->failed) transport_->try_progress();
    if (round_->failed) std::rethrow_exception(round_->failure);
    return arrived();
  }

  std::vector<int> unfinished() const override {
    std::vector<int> peers;
    const std::size_t count = round_->sends.size() + round_->receives.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Request& each = round_->requests[i];
      const int peer = each.message->peer;
      if (!each.done && std::find(peers.begin(), peers.end(), peer) == peers.end()) peers.push_back(peer);
    }
    return peers;
  }

 private:
  bool arrived() const { return round_->left.load(std::memory_order_acquire) == 0; }

  std::shared_ptr<SharedTransport::Impl> transport_;
  std::shared_ptr<PostedRound> round_;
};

/// What each of `ranks` says, by place.
template <typename Value>
std::vector<Value> gathered(MPI_Comm team, const Value& mine, std::size_t members) {
  std::vector<Value> all(members);
  RIESZ_MPI(MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, team));
  return all;
}

MPI_Comm communicator_of(const std::vector<int>& ranks) {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm team = MPI_COMM_NULL;
  RIESZ_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
  RIESZ_MPI(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group));
  RIESZ_MPI(MPI_Comm_create_group(MPI_COMM_WORLD, group, 0, &team));
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  return team;
}

}  // namespace

SharedTransport::SharedTransport(const std::vector<int>& ranks) : impl_(std::make_shared<Impl>()) {
  MPI_Comm team = communicator_of(ranks);
  const auto members = ranks.size();
  const auto me =
      static_cast<std::size_t>(std::find(ranks.begin(), ranks.end(), Runtime::rank()) - ranks.begin());
  const std::shared_ptr<SharedMemory> mine =
      SharedMemory::make(members * sizeof(SharedRing::Head) + sizeof(Doorbell), members * SharedRing::kBytes);
  const auto addresses = gathered(team, mine->address(), members);
  bool opened = true;
  for (std::size_t i = 0; i < members; ++i) {
    impl_->outboxes.push_back(
        i == me ? mine : SharedMemory::open(addresses[i], {me * SharedRing::kBytes, SharedRing::kBytes}));
    opened = opened && impl_->outboxes.back() != nullptr;
  }
  const std::vector<bool> all = [&] {
    const auto each = gathered(team, static_cast<char>(opened), members);
    return std::vector<bool>(each.begin(), each.end());
  }();
  MPI_Comm_free(&team);
  RIESZ_CHECK(
      std::find(all.begin(), all.end(), false) == all.end(),
      "the workers of this host cannot open each other's memory (as /proc/PROCESS/fd/NUMBER); they need "
      "one user and one space of process numbers, or RIESZ_TRANSPORT=mpi");
  impl_->doorbell = {mine, doorbell_of(*mine)};
  impl_->place_of.resize(static_cast<std::size_t>(Runtime::size()), -1);
  for (std::size_t i = 0; i < members; ++i) {
    impl_->place_of[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
    const SharedMemory& theirs = *impl_->outboxes[i];
    impl_->lanes.push_back(
        i == me ? nullptr
                : std::make_unique<SharedLane>(ranks[i], ring_to(mine, i, ranks[i]),
                                               SharedRing(head_of_ring(theirs, me), theirs.reserved()),
                                               *doorbell_of(theirs)));
  }
}

SharedTransport::~SharedTransport() = default;

void SharedTransport::progress() { impl_->try_progress(); }

/// Whatever other threads do: what has been sent at once is to be rung for.
void SharedTransport::progress_near() {
  const std::lock_guard lock(impl_->mutex);
  impl_->progress();
}

std::shared_ptr<Doorbell> SharedTransport::doorbell() const { return impl_->doorbell; }

void SharedTransport::ring(int rank) {
  const int place = impl_->place_of[static_cast<std::size_t>(rank)];
  if (place >= 0) doorbell_of(*impl_->outboxes[static_cast<std::size_t>(place)])->ring();
}

bool SharedTransport::shares_memory_with(int rank) const {
  return impl_->place_of[static_cast<std::size_t>(rank)] >= 0;
}

bool SharedTransport::goes_now(int rank) const {
  const int place = impl_->place_of[static_cast<std::size_t>(rank)];
  return place >= 0 && impl_->lanes[static_cast<std::size_t>(place)] != nullptr;
}

void SharedTransport::prefetch_awaited(int peer) const { impl_->lane(peer).prefetch_awaited(); }

bool SharedTransport::send_now(int peer, MatchKey key, const Signature& signature, const Pack& pack) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->lane(peer).send_now(key, signature, pack);
}

/// Whatever other threads do: who listens for the bell and finds nothing sleeps. The lock waits until what
/// was sent before can be seen by all, and meanwhile the lines of what has come are on their way.
bool SharedTransport::receive_now(int peer, MatchKey key, const Signature& expected, const Unpack& unpack) {
  SharedLane& lane = impl_->lane(peer);
  lane.prefetch_awaited();
  const std::lock_guard lock(impl_->mutex);
  const bool has_come = lane.receive_now(key, expected, unpack);
  lane.ring();
  return has_come;
}

std::unique_ptr<Requests> SharedTransport::post(std::vector<Message> sends, std::vector<Message> receives) {
  return std::make_unique<SharedRequests>(
      impl_, std::make_shared<PostedRound>(std::move(sends), std::move(receives)));
}

}  // namespace riesz
