// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// Point-to-point messages between processes of one host, for tensors in host memory: through a ring in
/// shared memory for each ordered pair, in pieces, so of any size. A small message that comes before its
/// receive is posted is kept; a large one is announced, and sent when its receive is there, so none blocks
/// another. One that lies in memory which the receiver maps too (a `TeamBuffer`) is copied once, from there.
/// Messages move while someone on each side asks whether any of them are done.
class SharedTransport final : public Transport {
 public:
  /// Between this worker and those of `ranks` (world ranks, this worker's among them). Collective over them.
  /// @throws Error on all of them unless they can share memory.
  explicit SharedTransport(const std::vector<int>& ranks);
  ~SharedTransport() override;
  SharedTransport(const SharedTransport&) = delete;
  SharedTransport& operator=(const SharedTransport&) = delete;

  std::unique_ptr<Exchange> post(std::vector<Message> sends, std::vector<Message> receives) override;
  void go_on() override;
  std::shared_ptr<Bell> bell() const override;
  void ring(int rank) override;
  bool shares_memory_with(int rank) const override;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace riesz
