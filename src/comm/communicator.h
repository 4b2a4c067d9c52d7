// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// A message to or from the worker of world rank `peer`, before it has a number.
struct Parcel {
  int peer;
  Range range;
  std::shared_ptr<const Label> label = nullptr;   // nullptr: the operation's
  std::shared_ptr<at::Tensor> arrived = nullptr;  // as a message's; not in a batch
};

/// The numbers of one round of messages in a stream, by position in its lists of peers.
struct Tags {
  int stream = 0;
  std::vector<int> sends;
  std::vector<int> receives;
};

/// The number of the first leg of a team's move between this worker and a peer.
struct MoveNumber {
  int peer;
  MessageKey first;
};

/// A stream that some workers have to themselves, beside those of the program: the moves of a team's buffer
/// are numbered in it, or their threads meet in it. While one of them holds it, no other use is given it.
using MoveStream = std::shared_ptr<const int>;

/// This worker's end of the traffic among all workers of the job. It counts what each operator sends, and
/// stages tensors of other devices through host memory. Every exchange is point to point over one transport,
/// so a team of workers needs no communicator of its own: making one is local and free, and no order of
/// making can deadlock.
///
/// A message is matched by its place in a stream of the program: the n-th number that a worker takes there
/// for a peer is the n-th that the peer takes for it. So numbers of a stream are taken in program order, and
/// messages may be posted and arrive in any; two streams may go on in another order at either end. Once
/// matched, the operation's label, the size and the type are compared: programs that
/// differ end with an Error, from the exchange's done, that names both workers' operations.
class Communicator {
 public:
  /// The one that `Runtime` made. @throws Error outside a Runtime's life.
  static Communicator& world();

  explicit Communicator(std::unique_ptr<Transport> transport);

  /// Takes a number for each message of a round to be posted now or later, in the stream that this thread is
  /// in. Called in the program order of that stream.
  /// @throws Error if the transport cannot tell so many streams apart.
  Tags take_tags(const std::vector<int>& send_peers, const std::vector<int>& receive_peers);

  /// Begins a round on behalf of `operation`, under whose name it is counted. Parcels are contiguous and not
  /// empty.
  std::unique_ptr<Exchange> post(const Operation& operation, const Tags& tags, std::vector<Parcel> sends,
                                 std::vector<Parcel> receives);

  /// Sends on behalf of `operation`, and waits for nobody: what is not taken at once goes on in the
  /// background, and is counted until then (`Counters::unsent`). The parcels' memory is given away: nobody
  /// writes it any more.
  void send(const Operation& operation, const Tags& tags, std::vector<Parcel> sends);

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

  /// The numbers of a team's move, by peer, for its two legs of messages. Called by all members, in one order
  /// of the stream's moves.
  std::vector<MoveNumber> number_move(int stream, const std::vector<int>& peers);

  /// Begins a leg of a team's move, 0 or 1, on behalf of `operation`, under whose name it is counted: at most
  /// one parcel to and from each peer, which may be empty.
  std::unique_ptr<Exchange> post_leg(const Operation& operation, const std::vector<MoveNumber>& move, int leg,
                                     std::vector<Parcel> sends, std::vector<Parcel> receives);

  /// What each of `peers` has, of the size and type of `mine`, which each of them gets: workers make
  /// themselves known. In `stream`, else in the one that all introductions share; waits; not counted.
  std::vector<at::Tensor> introduce(const Operation& operation, const std::vector<int>& peers,
                                    const at::Tensor& mine, const MoveStream& stream = nullptr);

  /// The same at once, to its end: takes numbers, posts, waits; empty parcels are dropped on both sides.
  void exchange(const Operation& operation, std::vector<Parcel> sends, std::vector<Parcel> receives);

  /// The same for the packed parcels of a `Batch`, whose elements are counted already. Where there is nothing
  /// to receive, it sends and waits for nobody.
  void exchange_packed(const Operation& operation, std::vector<Parcel> sends, std::vector<Parcel> receives);

 private:
  std::unique_ptr<Exchange> post_messages(std::vector<Message> sends, std::vector<Message> receives);
  std::unique_ptr<Exchange> post_uncounted(const Operation& operation, const Tags& tags,
                                           std::vector<Parcel> sends, std::vector<Parcel> receives);
  std::unique_ptr<Exchange> post_leg_uncounted(const Operation& operation,
                                               const std::vector<MoveNumber>& move, int leg,
                                               std::vector<Parcel> sends, std::vector<Parcel> receives);

  /// Numbers taken in a stream, by peer.
  struct Taken {
    std::vector<unsigned> sends;
    std::vector<unsigned> receives;
  };
  Taken& taken_in(int stream);

  std::unique_ptr<Transport> transport_;
  std::mutex mutex_;
  std::vector<Taken> taken_;  // by the transport's stream
  struct MoveStreams;
  std::shared_ptr<MoveStreams> move_streams_;
};

/// Makes `Communicator::world()`, or with nullptr ends it. `Runtime` calls it; tests may put in another
/// transport. Returns the one before. Collective over the job.
std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator);

}  // namespace riesz
