// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <utility>
#include <vector>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// Which chunks an action has its input from, and which use its result. Forward passes go along the links,
/// backward passes against them.
class Links {
 public:
  /// From each chunk to the next one, and along the skips (from, to), of which from comes first.
  explicit Links(int chunks, const std::vector<std::pair<int, int>>& skips = {});

  /// Empty for passes that stay in their chunk.
  const std::vector<int>& sources(const Action& action) const;
  const std::vector<int>& users(const Action& action) const;

 private:
  std::vector<std::vector<int>> before_;
  std::vector<std::vector<int>> after_;
  std::vector<int> none_;
};

/// Does the gradient of the chunk's input come from this action?
inline bool gives_gradient(const Action& action) {
  return action.pass == Pass::backward || action.pass == Pass::backward_inputs;
}

/// Are the gradients of the chunk's weights complete after this action, so that nothing of the micro-batch is
/// kept?
inline bool ends_micro_batch(const Action& action) {
  return action.pass == Pass::backward || action.pass == Pass::backward_weights;
}

}  // namespace riesz
