// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// Point-to-point messages over one duplicate of MPI_COMM_WORLD, for tensors in host memory. All receives and
/// sends of a call are posted at once, so no order among workers can deadlock. Messages over
/// `largest_message` bytes travel in several, since MPI counts with int. In front of each goes what it is, of
/// what operator: with its bytes where they are few, else as a message of its own, for which nobody waits.
/// MPI moves them while someone asks whether they are done.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(std::int64_t largest_message = std::int64_t{1} << 30);
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives) override;
  /// As many as there are tags for (MPI_TAG_UB).
  int streams() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
