// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// Staged requests: messages of tensors on a device, over a transport that knows host memory only. They go by
/// way of tensors in host memory. Once all messages have arrived there, they are copied to the device.
/// Private to src/comm.
class StagedRequests final : public Requests {
 public:
  StagedRequests(Transport& transport, std::vector<Message> sends, const std::vector<Message>& receives);

  bool done() override;
  std::vector<int> unfinished() const override { return inner_->unfinished(); }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> arrivals_;  // where it goes, and where it arrives
  std::unique_ptr<Requests> inner_;
};

}  // namespace riesz
