// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "riesz/comm/device_stream.h"
#include "riesz/comm/late_value.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// Messages that wait until their tensors are copied out of a device. Private to src/comm.
class Departures {
 public:
  /// Queues the copies in the current stream.
  explicit Departures(std::vector<Message> sends);
  ~Departures();
  Departures(Departures&& other) noexcept;
  Departures& operator=(Departures&&) = delete;

  /// Posts the messages if all copies are done; else nullptr. Given once. Never waits.
  std::unique_ptr<Requests> post(Transport& transport);
  /// True once they are posted.
  bool posted() const { return posted_; }
  const std::vector<Message>& messages() const { return messages_; }

  /// How many departures of this process wait for a device. No other worker rings when a copy is done, so who
  /// sleeps meanwhile looks again soon (`kCopyPause`).
  static int waiting();

 private:
  struct Copy {
    std::size_t message;
    LateValue copy;
  };

  std::vector<Message> messages_;
  std::vector<Copy> copies_;
  bool posted_ = false;
};

/// Staged requests: messages of tensors on a device, over a transport that knows host memory only. They go by
/// way of tensors in pinned host memory, and the host waits for none of the copies. All copies are queued in
/// the stream that is current where this is made, whatever thread calls `done`. Those out of the device are
/// queued at once; when they are done, their messages are sent. Those into the device are queued when all
/// messages have arrived. If this is dropped sooner, the background sends what is not sent yet: other workers
/// receive it, as they do what a host has sent. Once the transport has gone, nothing is sent: the job has
/// come to its end. Private to src/comm.
class StagedRequests final : public Requests {
 public:
  StagedRequests(const std::shared_ptr<Transport>& transport, std::vector<Message> sends,
                 std::vector<Message> receives);
  ~StagedRequests() override;
  StagedRequests(const StagedRequests&) = delete;
  StagedRequests& operator=(const StagedRequests&) = delete;

  bool done() override;
  std::vector<int> unfinished() const override;

 private:
  struct Arrival {
    at::Tensor there, here;
  };

  void post_departures();

  std::weak_ptr<Transport> transport_;
  DeviceStream stream_;
  Departures departures_;
  std::vector<Arrival> arrivals_;
  std::unique_ptr<Requests> sends_;  // none before the copies are done
  std::unique_ptr<Requests> receives_;
};

}  // namespace riesz
