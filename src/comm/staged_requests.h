// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "riesz/comm/late_value.h"
#include "riesz/comm/transport.h"

namespace riesz {

/// Staged requests: messages of tensors on a device, over a transport that knows host memory only. They go by
/// way of tensors in pinned host memory, and the host waits for none of the copies. Those out of the device
/// are queued in the current stream; once they are done, their messages are sent. Those into the device are
/// queued once all messages have arrived, in the stream that is current where `done` is called, which is to
/// be the same. Private to src/comm.
class StagedRequests final : public Requests {
 public:
  StagedRequests(Transport& transport, std::vector<Message> sends, std::vector<Message> receives);

  bool done() override;
  std::vector<int> unfinished() const override;

 private:
  struct Departure {
    std::size_t message;
    LateValue copy;
  };
  struct Arrival {
    at::Tensor there, here;
  };

  void send_what_is_copied();

  Transport& transport_;
  std::vector<Message> unsent_;
  std::vector<Departure> departures_;  // what is copied for these
  std::vector<Arrival> arrivals_;
  std::unique_ptr<Requests> sends_;  // none before the copies are done
  std::unique_ptr<Requests> receives_;
};

}  // namespace riesz
