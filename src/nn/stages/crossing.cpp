// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/crossing.h"

#include <cstddef>
#include <utility>

#include "riesz/nn/call_state.h"
#include "riesz/nn/vectors/to_space.h"

namespace riesz {

Crossing::Crossing() : outer_(std::exchange(detail::call_state().crossing, this)) {}
Crossing::~Crossing() { detail::call_state().crossing = outer_; }
Crossing* Crossing::current() { return detail::call_state().crossing; }

void bring(const std::vector<Vector*>& arguments, const std::vector<Space>& targets) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->space() != targets[i]) *arguments[i] = to_space(*arguments[i], targets[i]);
}

namespace detail {

StageScope::StageScope(const Stages* stages, int stage)
    : outer_(std::exchange(call_state().stages, stages)),
      outer_stage_(std::exchange(call_state().stage, stage)) {
  ++call_state().stages_entered;
}

std::uint64_t StageScope::entered() { return call_state().stages_entered; }

StageScope::~StageScope() {
  call_state().stages = outer_;
  call_state().stage = outer_stage_;
}

bool StageScope::in(const Stages* stages, int stage) {
  const CallState& now = call_state();
  return now.stages == stages && now.stage == stage;
}

}  // namespace detail
}  // namespace riesz
