// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "riesz/comm/transport.h"

namespace riesz {

/// Point-to-point messages over one duplicate of MPI_COMM_WORLD, for tensors in host memory. All receives and sends
/// of a call are posted at once, so no order among workers can deadlock. Messages over `largest_message` bytes
/// travel in several, since MPI counts with int.
/// @throws Error if a message has not the size that the receiver expects: the workers' programs differ.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(std::int64_t largest_message = std::int64_t{1} << 30);
  ~MpiTransport() override;
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  void exchange(const std::vector<Parcel>& sends, const std::vector<Parcel>& receives) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace riesz
