// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/crossing.h"

#include <cstddef>
#include <utility>

#include "riesz/nn/vectors/to_space.h"

namespace riesz {
namespace {

thread_local Crossing* current_crossing = nullptr;
thread_local const Stages* current_stages = nullptr;
thread_local int stage_in_them = -1;
thread_local std::uint64_t stages_entered = 0;

}  // namespace

Crossing::Crossing() : outer_(std::exchange(current_crossing, this)) {}
Crossing::~Crossing() { current_crossing = outer_; }
Crossing* Crossing::current() { return current_crossing; }

void bring(const std::vector<Vector*>& arguments, const std::vector<Space>& targets) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i]->space() != targets[i]) *arguments[i] = to_space(*arguments[i], targets[i]);
}

namespace detail {

StageScope::StageScope(const Stages* stages, int stage)
    : outer_(std::exchange(current_stages, stages)), outer_stage_(std::exchange(stage_in_them, stage)) {
  ++stages_entered;
}

std::uint64_t StageScope::entered() { return stages_entered; }

StageScope::~StageScope() {
  current_stages = outer_;
  stage_in_them = outer_stage_;
}

bool StageScope::in(const Stages* stages, int stage) {
  return current_stages == stages && stage_in_them == stage;
}

}  // namespace detail
}  // namespace riesz
