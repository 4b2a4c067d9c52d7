// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/comm/device_transport.h"
#include "riesz/comm/operation.h"
#include "riesz/comm/spin_lock.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// A transfer: a message to or from the worker of world rank `peer`, before it has a match key.
struct Transfer {
  int peer;
  TensorSpan span;
  std::shared_ptr<const Label> label = nullptr;  // nullptr: the operation's
};

/// The traffic of these messages.
Traffic traffic_of(c10::ArrayRef<Transfer> sends);

/// What a post adds to the counters. `sent`: its sends. `nothing`: no traffic, for the caller has counted it.
/// `begun`: no traffic and no call on the status board, for `Reservation::begin` has done both.
enum class Counted { sent, nothing, begun };

class Communicator;
class DeviceOrder;

/// A reservation: the match keys of one round of messages, taken in program order. Its messages are posted
/// immediately or later. A post lists them in the order in which the peers were given.
class Reservation {
 public:
  Reservation() = default;
  /// `Communicator::reserve`, where the reservation is to lie.
  Reservation(Communicator& communicator, c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers);

  /// Posts the round. The status board shows it as a call of `operation`, and the counters count it under
  /// that name. `team`: all workers that make the call, if all of them know it; then the round may go from
  /// device to device (`DeviceTransport`). Members post a team's rounds in one order. Workers that share
  /// several teams also use these teams in one order; otherwise the devices deadlock. @throws Error unless
  /// the tensors of all transfers are plain (`is_plain`).
  std::unique_ptr<Requests> post(const Operation& operation, std::vector<Transfer> sends,
                                 std::vector<Transfer> receives, Counted counted = Counted::sent,
                                 const CallTeam& team = nullptr) const;

  /// Posts the round without a wait for its sends: the requests are those of the receives, nullptr if there
  /// are none. The background sends what receivers do not take immediately. Its bytes count as
  /// `Counters::untaken` until they are taken. Nobody may write the memory of the sends again: the background
  /// reads it until all is taken, and tells nobody when that is.
  std::unique_ptr<Requests> send(const Operation& operation, std::vector<Transfer> sends,
                                 std::vector<Transfer> receives = {}, Counted counted = Counted::sent) const;

  /// Queues a call as the library's collective, in place of its rounds, whose first one this is. `sends` and
  /// `receives` say what the messages of that round would be: they are compared if the transport compares.
  /// `sent` is the traffic of all rounds, and counted. @pre the transport carries the team, and has the
  /// collective.
  void post(const Operation& operation, DeviceTransport& transport, const CallTeam& team,
            LibraryCollective collective, const TensorSpan& from, const TensorSpan& to,
            std::vector<Transfer> sends, std::vector<Transfer> receives, const Traffic& sent) const;

  /// Begins a round whose messages go immediately. The status board shows it as a call of `operation`, and
  /// `sent` counts under its name.
  void begin(const Operation& operation, const Traffic& sent) const;
  /// A message of at most `kMostNow` bytes in host memory, immediately and without requests
  /// (`Transport::send_now`). `message`: its position among the send peers. False if there is no room now:
  /// then it is to be posted.
  bool send_now(std::size_t message, int peer, const Signature& signature, const Transport::Pack& pack) const;
  /// `Transport::prefetch_awaited`.
  void prefetch_awaited(int peer) const;
  /// Takes such a message, if it has come (`Transport::receive_now`). `message`: its position among the
  /// receive peers.
  bool receive_now(std::size_t message, int peer, const Signature& expected,
                   const Transport::Unpack& unpack) const;

  /// The reservation of some of its messages: those whose entry in `sends` or `receives`, by position, is
  /// true.
  Reservation some(const std::vector<bool>& sends, const std::vector<bool>& receives) const;

  /// True if all of its messages can go immediately (`Transport::goes_now`).
  bool goes_now() const { return goes_now_; }
  /// False once the runtime has gone in which it was made: then nothing can be posted.
  bool lives() const;
  int channel() const { return channel_; }
  /// Numbers in the channel, by position.
  c10::ArrayRef<int> sends() const { return c10::ArrayRef<int>(numbers_).slice(0, sends_); }
  c10::ArrayRef<int> receives() const { return c10::ArrayRef<int>(numbers_).slice(sends_); }

 private:
  friend class Communicator;
  Reservation(Communicator& communicator, int channel, c10::ArrayRef<int> send_peers,
              c10::ArrayRef<int> receive_peers);
  void enter(const Operation& operation, const std::vector<Transfer>& sends,
             const std::vector<Transfer>& receives, Counted counted) const;
  std::unique_ptr<Requests> posted(const Operation& operation, std::vector<Transfer> sends,
                                   std::vector<Transfer> receives, const CallTeam& team) const;

  Communicator* communicator_ = nullptr;
  int channel_ = 0;
  bool goes_now_ = true;
  std::size_t sends_ = 0;
  c10::SmallVector<int, 8> numbers_;  // of the sends, then of the receives
};

/// A team channel: a channel that some workers have to themselves, beside the program's. It numbers the
/// messages of the collectives on one `TeamBuffer`, or those of a `SideChannel` (src/partition/agreement).
/// Nobody else is given it while a member holds it.
using TeamChannel = std::shared_ptr<const int>;

/// A communicator: this worker's end of all messages of the job. It counts what each operation sends, and
/// stages tensors of other devices through host memory. All messages are point to point over one transport.
/// So a team of workers needs no communicator of its own: making a partition is local and free, and cannot
/// deadlock.
///
/// A message is matched by its channel and its number there. The n-th that a worker reserves for a peer
/// matches the n-th that the peer reserves for it. So reservations are made in program order; messages may be
/// posted and arrive in any order. Two channels may interleave differently at both ends. After the match,
/// label, size and type are compared. If they differ, `Requests::done` throws an Error that names both
/// workers' operations.
class Communicator {
 public:
  /// The one that `Runtime` made. @throws Error outside a Runtime's life.
  static Communicator& world();

  explicit Communicator(std::unique_ptr<Transport> transport);

  /// Reserves a round of messages, one to each of `send_peers` and one from each of `receive_peers`, by world
  /// rank. It is posted now or later. Called in the program order of the channel that this thread is in.
  /// @throws Error if the transport cannot tell so many channels apart.
  Reservation reserve(c10::ArrayRef<int> send_peers, c10::ArrayRef<int> receive_peers);
  /// The same in a team channel, in the order of its messages.
  Reservation reserve(const TeamChannel& channel, c10::ArrayRef<int> send_peers,
                      c10::ArrayRef<int> receive_peers);

  /// Sends what other workers need in order to go on (`Transport::progress`).
  void progress() { transport_->progress(); }

  /// Advances small messages to and from workers of this host (`Transport::progress_near`).
  void progress_near() { transport_->progress_near(); }

  /// True if this worker and the one of world rank `rank` can map the same memory.
  bool shares_memory_with(int rank) const { return transport_->shares_memory_with(rank); }
  /// The hosts of all workers (`Transport::hosts`).
  const std::vector<int>& hosts() const { return transport_->hosts(); }
  /// This worker's doorbell (`Transport::doorbell`). `ring` rings the doorbell of another worker.
  std::shared_ptr<Doorbell> doorbell() const { return transport_->doorbell(); }
  void ring(int rank) { transport_->ring(rank); }

  /// A new channel of this worker and `peers`, such as for the collectives on a buffer. The order of its
  /// messages against those of other channels does not matter. Collective over them; waits; not counted.
  /// @throws Error if the transport cannot tell so many apart.
  TeamChannel new_team_channel(const Operation& operation, const std::vector<int>& peers);

  /// Gathers a tensor in host memory from each of `peers`, on each of them. They get `mine`; the result has
  /// theirs, of the same size and type. It uses `channel`, else a channel that all such calls share. Waits;
  /// not counted.
  std::vector<at::Tensor> host_allgather(const Operation& operation, const std::vector<int>& peers,
                                         const at::Tensor& mine, const TeamChannel& channel = nullptr);

  /// Reserves a round, posts it and waits for it. Empty transfers are dropped on both sides. `team`: as in
  /// `Reservation::post`.
  void exchange(const Operation& operation, std::vector<Transfer> sends, std::vector<Transfer> receives,
                const CallTeam& team = nullptr);

  /// Sets how rounds of teams travel between devices. A round uses it if its tensors have the transport's
  /// type of device, it is posted with its team, and the transport carries the team. All others are staged.
  /// Collective over the job; call it before any such round.
  void set_device_transport(std::unique_ptr<DeviceTransport> transport);
  /// The transport by which rounds of this team travel between tensors on `device`; nullptr: they are staged,
  /// or this worker is the team.
  /// It waits, and throws, as `DeviceTransport::carries`.
  DeviceTransport* device_transport(at::Device device, const CallTeam& team,
                                    const std::string& operation) const;

 private:
  friend class Reservation;

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives,
                                 const CallTeam& team);
  bool goes_by_device(const std::vector<Message>& sends, const std::vector<Message>& receives,
                      const CallTeam& team) const;
  /// This thread's channel of the program. @throws Error as `reserve`.
  int channel_here() const;

  /// Numbers taken in a channel, by peer.
  struct Taken {
    std::vector<unsigned> sends;
    std::vector<unsigned> receives;
  };
  Taken& taken_in(int channel);

  std::shared_ptr<Transport> transport_;               // shared with nobody: others look whether it is there
  std::unique_ptr<DeviceTransport> device_transport_;  // or nullptr
  std::shared_ptr<DeviceOrder> device_order_;
  int channels_;                // for the program and buffers
  std::vector<char> goes_now_;  // by rank, as the transport says
  SpinLock mutex_;
  std::vector<Taken> taken_;  // by the transport's channel
  struct TeamChannels;
  std::shared_ptr<TeamChannels> team_channels_;
};

/// Sets `Communicator::world()`; nullptr ends it. Returns the one before. `Runtime` calls it; tests may set
/// one with another transport. Collective over the job.
std::unique_ptr<Communicator> set_world_communicator(std::unique_ptr<Communicator> communicator);

}  // namespace riesz
