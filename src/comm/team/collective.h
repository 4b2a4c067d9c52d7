// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/progress/background.h"

namespace riesz {

/// A team collective: a collective on a `TeamBuffer` under way. After `wait` this worker has its result, and
/// no peer reads this worker's buffer any more. `wait` throws an Error if the team's workers began different
/// collectives.
class TeamCollective : public BackgroundTask {
 protected:
  /// `operation`: a text for people.
  TeamCollective(std::string operation, at::Device device)
      : BackgroundTask(device), operation_(std::move(operation)) {}
  const std::string& operation() const final { return operation_; }

 private:
  std::string operation_;
};

/// Starts the collective and returns it. It makes what progress it can without waiting; the background does
/// the rest.
std::shared_ptr<TeamCollective> begun(std::shared_ptr<TeamCollective> collective);

}  // namespace riesz
