// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/transport.h"

namespace riesz {

/// Staged requests: messages of tensors elsewhere than in host memory, by a transport of host memory. What
/// arrived there is copied on when all has. Private to this room.
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
