// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// The shared-memory transport: point-to-point messages between processes of one host, for tensors in host
/// memory. Each ordered pair has a ring in shared memory, through which messages of any size go in fragments.
/// A small message that arrives before its receive is kept. A large one is announced and sent once its
/// receive is posted, so no message blocks another. A message in memory that the receiver maps too (a
/// `TeamBuffer`) is copied once, from there. Messages move while both sides call `done`.
class SharedTransport final : public Transport {
 public:
  /// Between this worker and those of `ranks` (world ranks, this worker's among them). Collective over them.
  /// @throws Error on all of them unless they can share memory.
  explicit SharedTransport(const std::vector<int>& ranks);
  ~SharedTransport() override;
  SharedTransport(const SharedTransport&) = delete;
  SharedTransport& operator=(const SharedTransport&) = delete;

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override;
  bool goes_now(int rank) const override;
  bool send_now(int peer, MatchKey key, const Signature& signature, const Pack& pack) override;
  void prefetch_awaited(int peer) const override;
  bool receive_now(int peer, MatchKey key, const Signature& expected, const Unpack& unpack) override;
  void progress_near() override;
  void progress() override;
  std::shared_ptr<Doorbell> doorbell() const override;
  void ring(int rank) override;
  bool shares_memory_with(int rank) const override;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
