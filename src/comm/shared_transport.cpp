// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_transport.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "riesz/comm/bell.h"
#include "riesz/comm/error.h"
#include "riesz/comm/mpi_check.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/shared_lane.h"
#include "riesz/comm/shared_memory.h"

namespace riesz {

/// Each worker makes the rings that lead away from it, one to each of `ranks` by place, and its bell: behind
/// their heads, which all map; what is in a ring only its reader maps.
struct SharedTransport::Impl {
  std::vector<std::shared_ptr<SharedMemory>> outboxes;  // by place
  std::vector<std::unique_ptr<SharedLane>> lanes;       // by place; nullptr: this worker itself
  std::shared_ptr<Bell> bell;                           // this worker's
  std::vector<int> place_of;                            // by world rank; −1: elsewhere
  std::mutex mutex;

  SharedLane& lane(int rank) const {
    return *lanes[static_cast<std::size_t>(place_of[static_cast<std::size_t>(rank)])];
  }

  /// All lanes, also where there is no memory for one. @throws Error then, in the end.
  void go_on() const {
    std::exception_ptr failure;
    for (const auto& each : lanes) {
      if (each) go_on(*each, failure);
    }
    if (failure) std::rethrow_exception(failure);
  }

  static void go_on(SharedLane& lane, std::exception_ptr& failure) {
    try {
      lane.go_on();
    } catch (...) {
      failure = std::current_exception();
    }
  }

  /// Gives a round to the lanes of its peers.
  void post(const std::shared_ptr<PostedRound>& round) const {
    Letter* letter = round->letters;
    for (Message& message : round->receives) lane(message.peer).receive(round, *letter++);
    for (Message& message : round->sends) lane(message.peer).send(round, *letter++);
    std::exception_ptr failure;
    for (const std::vector<Message>* messages : {&round->receives, &round->sends}) {
      for (const Message& message : *messages) go_on(lane(message.peer), failure);
    }
    if (failure) std::rethrow_exception(failure);
  }

  void try_to_go_on() {
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (lock.owns_lock()) go_on();
  }
};

namespace {

SharedRing::Head& head_of_ring(const SharedMemory& outbox, std::size_t to) {
  return reinterpret_cast<SharedRing::Head*>(outbox.data())[to];
}

Bell* bell_of(const SharedMemory& outbox) {
  return reinterpret_cast<Bell*>(outbox.data() + outbox.bytes() - sizeof(Bell));
}

/// Of this worker's outbox, to the member of that place and rank.
SharedRing ring_to(const std::shared_ptr<SharedMemory>& outbox, std::size_t to, int rank) {
  const std::size_t first = to * SharedRing::kBytes;
  return {head_of_ring(*outbox, to), outbox->late() + first,
          [outbox, first, rank](std::size_t begin, std::size_t end) {
            outbox->take_late({first + begin, end - begin}, concat(" for messages to rank ", rank));
          }};
}

/// Its letters are sent and received even after it is gone.
class SharedExchange final : public Exchange {
 public:
  SharedExchange(const std::shared_ptr<SharedTransport::Impl>& transport, std::shared_ptr<PostedRound> round)
      : transport_(transport), round_(std::move(round)) {
    const std::lock_guard lock(transport_->mutex);
    transport_->post(round_);
  }

  SharedExchange(const SharedExchange&) = delete;
  SharedExchange& operator=(const SharedExchange&) = delete;

  bool done() override {
    if (!arrived() && !round_->failed) transport_->try_to_go_on();
    if (round_->failed) std::rethrow_exception(round_->failure);
    return arrived();
  }

  std::vector<int> unfinished() const override {
    std::vector<int> peers;
    const std::size_t count = round_->sends.size() + round_->receives.size();
    for (std::size_t i = 0; i < count; ++i) {
      const Letter& each = round_->letters[i];
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
      SharedMemory::make(members * sizeof(SharedRing::Head) + sizeof(Bell), members * SharedRing::kBytes);
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
  impl_->bell = {mine, bell_of(*mine)};
  impl_->place_of.resize(static_cast<std::size_t>(Runtime::size()), -1);
  for (std::size_t i = 0; i < members; ++i) {
    impl_->place_of[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
    const SharedMemory& theirs = *impl_->outboxes[i];
    impl_->lanes.push_back(i == me
                               ? nullptr
                               : std::make_unique<SharedLane>(
                                     ranks[i], ring_to(mine, i, ranks[i]),
                                     SharedRing(head_of_ring(theirs, me), theirs.late()), *bell_of(theirs)));
  }
}

SharedTransport::~SharedTransport() = default;

void SharedTransport::go_on() { impl_->try_to_go_on(); }

std::shared_ptr<Bell> SharedTransport::bell() const { return impl_->bell; }

void SharedTransport::ring(int rank) {
  const int place = impl_->place_of[static_cast<std::size_t>(rank)];
  if (place >= 0) bell_of(*impl_->outboxes[static_cast<std::size_t>(place)])->ring();
}

bool SharedTransport::shares_memory_with(int rank) const {
  return impl_->place_of[static_cast<std::size_t>(rank)] >= 0;
}

std::unique_ptr<Exchange> SharedTransport::post(std::vector<Message> sends, std::vector<Message> receives) {
  return std::make_unique<SharedExchange>(
      impl_, std::make_shared<PostedRound>(std::move(sends), std::move(receives)));
}

}  // namespace riesz
