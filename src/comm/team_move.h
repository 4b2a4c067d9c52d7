// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "riesz/comm/progress.h"

namespace riesz {

/// A move on a `TeamBuffer` under way. After `wait` this worker's result is there, and no peer reads this
/// worker's buffer for it any more; it throws an Error where the team's workers began different moves.
class TeamMove : public Activity {
 protected:
  /// `operation`: a text for people.
  explicit TeamMove(std::string operation) : operation_(std::move(operation)) {}
  const std::string& operation() const final { return operation_; }

 private:
  std::string operation_;
};

/// Goes on at once as far as it can, and then in the background.
std::shared_ptr<TeamMove> begun(std::shared_ptr<TeamMove> move);

}  // namespace riesz
