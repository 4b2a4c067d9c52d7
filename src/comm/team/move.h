// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/progress/background.h"

namespace riesz {

/// A team move: a collective on a `TeamBuffer` under way. After `wait` this worker has its result, and no
/// peer reads this worker's buffer any more. `wait` throws an Error if the team's workers began different
/// moves.
class TeamMove : public BackgroundTask {
 protected:
  /// `operation`: a text for people.
  explicit TeamMove(std::string operation) : operation_(std::move(operation)) {}
  const std::string& operation() const final { return operation_; }

 private:
  std::string operation_;
};

/// Starts the move and returns it. It makes what progress it can at once; the background does the rest.
std::shared_ptr<TeamMove> begun(std::shared_ptr<TeamMove> move);

}  // namespace riesz
