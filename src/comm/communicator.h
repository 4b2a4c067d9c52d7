// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/operation.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// A message to or from the worker of world rank `peer`, before it has a match key.
struct Parcel {
  int peer;
  Range range;
  std::shared_ptr<const Label> label = nullptr;   // nullptr: the operation's
  std::shared_ptr<at::Tensor> arrived = nullptr;  // as a message's
};

/// What leaves with these messages.
Traffic traffic_of(c10::ArrayRef<Parcel> sends);

/// Does a post count what it sends, or has the caller counted it?
enum class Count { sent, nothing };

class Communicator;

/// The match keys of one round of messages, taken in the program's order. The messages are posted now or
/// later, in the order of the peers that they were reserved for.
class Reservation {
 public:
  Reservation() = default;

  /// Begins the round on behalf of `operation`, under whose name it is counted. Parcels are contiguous.
  std::unique_ptr<Exchange> post(const Operation& operation, std::vector<Parcel> sends,
                                 std::vector<Parcel> receives, Count count = Count::sent) const;

  /// Sends and waits for nobody: what is not taken at once goes on in the background, and is counted until
  /// then
  /// (`Counters::unsent`). The parcels' memory is given away: nobody writes it any more.
  void send(const Operation& operation, std::vector<Parcel> sends, Count count = Count::sent) const;

  /// The same for some of its messages only: those at whose position in the lists of peers there is true.
  Reservation some(const std::vector<bool>& sends, const std::vector<bool>& receives) const;

  int channel() const { return channel_; }
  c10::ArrayRef<int> sends() const { return sends_; }  ///< numbers in the channel, by position
  c10::ArrayRef<int> receives() const { return receives_; }

 private:
  friend class Communicator;
  using Numbers = c10::SmallVector<int, 8>;

  Communicator* communicator_ = nullptr;
  int channel_ = 0;
  Numbers sends_, receives_;
};

/// A stream that some workers have to themselves, beside those of the program: the moves of a team's buffer
/// are numbered in it, or their threads meet in it. While one of them holds it, no other use is given it.
using MoveStream = std::shared_ptr<const int>;

/// This worker's end of the traffic among all workers of the job. It counts what each operator sends, and
/// stages tensors of other devices through host memory. Every exchange is point to point over one transport,
/// so a team of workers needs no communicator of its own: making one is local and free, and no order of
/// making can deadlock.
///
/// A message is matched by its place in a stream of the program: the n-th that a worker reserves there for a
/// peer is the n-th that the peer reserves for it. So reservations are made in program order, and messages
/// may be posted and arrive in any; two streams may go on in another order at either end. Once matched, the
/// operation's label, the size and the type are compared: programs that differ end with an Error, from the
/// exchange's done, that names both workers' operations.
class Communicator {
 public:
  /// The one that `Runtime` made. @throws Error outside a Runtime's life.
  static Communicator& world();

  explicit Communicator(std::unique_ptr<Transport> transport);

  /// Reserves a round of messages, one to each of `send_peers` and one from each of `receive_peers`, by world
  /// rank. It is posted now or later. Called in the program order of the stream that this thread is in.
  /// @throws Error if the transport cannot tell so many streams apart.
  Reservation reserve(c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers);
  /// The same in a stream of a team's own, in the order of its moves.
  Reservation reserve(const MoveStream& stream, c10::ArrayRef<int> send_peers,
                      c10::ArrayRef<int> receive_peers);

  /// Sends on what is owed to others though nothing here waits for it. Never waits.
  void go_on() { transport_->go_on(); }

  /// May this worker and the one of world rank `rank` map the same memory?
  bool shares_memory_with(int rank) const { return transport_->shares_memory_with(rank); }
  /// What others ring when there is something for this worker (`Transport::bell`), and a ring at another.
  std::shared_ptr<Bell> bell() const { return transport_->bell(); }
  void ring(int rank) { transport_->ring(rank); }

  /// A stream of its own for the moves on a buffer of this worker and `peers`, so that their order against
  /// all else between the same two workers does not matter. Collective over them; waits; not counted.
  /// @throws Error if the transport cannot tell so many apart.
  MoveStream new_move_stream(const Operation& operation, const std::vector<int>& peers);

  /// What each of `peers` has, of the size and type of `mine`, which each of them gets: workers make
  /// themselves known. In `stream`, else in the one that all introductions share; waits; not counted.
  std::vector<at::Tensor> introduce(const Operation& operation, const std::vector<int>& peers,
                                    const at::Tensor& mine, const MoveStream& stream = nullptr);

  /// A round at once, to its end: reserves, posts, waits; empty parcels are dropped on both sides.
  void exchange(const Operation& operation, std::vector<Parcel> sends, std::vector<Parcel> receives);

 private:
  friend class Reservation;

  std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives);
  Reservation reserve_in(int channel, c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers);

  /// Numbers taken in a stream, by peer.
  struct Taken {
    std::vector<unsigned> sends;
    std::vector<unsigned> receives;
  };
  Taken& taken_in(int channel);

  std::unique_ptr<Transport> transport_;
  std::mutex mutex_;
  std::vector<Taken> taken_;  // by the transport's channel
  struct MoveStreams;
  std::shared_ptr<MoveStreams> move_streams_;
};

/// Makes `Communicator::world()`, or with nullptr ends it. `Runtime` calls it; tests may put in another
/// transport. Returns the one before. Collective over the job.
std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator);

}  // namespace riesz
