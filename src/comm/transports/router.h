// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/progress/poke.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// The routing transport: a pair of transports. It exchanges messages with workers that share memory with
/// this one by `near`, with others and with itself by `far`.
class RouterTransport final : public Transport {
 public:
  RouterTransport(std::unique_ptr<Transport> near, std::unique_ptr<Transport> far);

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override;
  bool goes_now(int rank) const override { return near_->goes_now(rank); }
  void prefetch_awaited(int peer) const override { near_->prefetch_awaited(peer); }
  bool send_now(int peer, MatchKey key, const Signature& signature, const Pack& pack) override {
    return near_->send_now(peer, key, signature, pack);
  }
  bool receive_now(int peer, MatchKey key, const Signature& expected, const Unpack& unpack) override {
    return near_->receive_now(peer, key, expected, unpack);
  }
  void progress_near() override { near_->progress_near(); }
  void progress() override {
    near_->progress();
    far_->progress();
  }
  int channels() const override { return std::min(near_->channels(), far_->channels()); }
  /// nullptr if some other worker does not share memory with this one: MPI has no doorbell.
  std::shared_ptr<Doorbell> doorbell() const override { return doorbell_; }
  void ring(int rank) override { near_->ring(rank); }
  bool shares_memory_with(int rank) const override { return near_->shares_memory_with(rank); }
  const std::vector<int>& hosts() const override { return far_->hosts(); }

 private:
  bool is_near(const Message& message) const { return goes_near_[static_cast<std::size_t>(message.peer)]; }

  std::unique_ptr<Transport> near_;
  std::unique_ptr<Transport> far_;
  std::shared_ptr<Doorbell> doorbell_;
  std::optional<Poke> poke_;  // if some workers are reached by MPI
  std::vector<char> goes_near_;  // by rank; false for this worker itself
};

/// Settings of the job's transport: how workers exchange messages.
struct TransportSettings {
  enum class Way {
    automatic,  ///< through shared memory on one host, by MPI between hosts
    shared,     ///< through shared memory; all workers are on one host
    mpi,        ///< all by MPI
  };
  Way way = Way::automatic;
  int ranks_per_host = 0;  ///< so many consecutive ranks count as one host; 0: hosts as they are

  /// The settings of the environment. RIESZ_TRANSPORT is auto, shared or mpi; RIESZ_HOSTS is the ranks per
  /// host. @throws Error on other values.
  static TransportSettings of_environment();
};

/// Makes the job's transport. Collective over the job. @throws Error if ranks have different settings, or if
/// `shared` is asked for and workers are on several hosts.
std::unique_ptr<Transport> make_transport(const TransportSettings& settings);

}  // namespace riesz
