// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// The MPI transport: point-to-point messages over duplicates of MPI_COMM_WORLD, for tensors in host memory.
/// It posts all receives and sends of a call together, so no order among workers can deadlock. A message over
/// `largest_message` bytes travels in several parts, for MPI counts with int. A header with the signature
/// goes first: together with the bytes of a small message, else as a message of its own. Only then is a large
/// message received, so one that does not belong here writes nothing. MPI makes progress while `done` is
/// called. A tag holds a message's channel, and its number modulo 2^14. The header holds the whole number. If
/// a receive gets a message of the same tag and another number, `done` throws an Error. Messages that are
/// still under way when a transport is gone never come to another: its two communicators of MPI (`MPI_Comm`)
/// are not used again.
class MpiTransport final : public Transport {
 public:
  /// `hosts`: of all workers (`Transport::hosts`).
  explicit MpiTransport(std::int64_t largest_message = std::int64_t{1} << 30, std::vector<int> hosts = {});
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::unique_ptr<Requests> post(std::vector<Message> sends, std::vector<Message> receives) override;
  /// Bounded by the number of MPI's tags (MPI_TAG_UB).
  int channels() const override;
  const std::vector<int>& hosts() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
