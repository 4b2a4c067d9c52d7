// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/journey.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/part_taken.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/wait.h"
#include "riesz/primitives/check_input.h"

namespace riesz {
namespace {

bool takes_part(const Step& step) {
  return step->domain().partition().active() || step->range().partition().active();
}

}  // namespace

Journey::Journey(const Operator& A, const at::Tensor& x) : A_(A), y_(x.detach()) {
  const at::NoGradGuard no_gradient;
  detail::check_input(A, x);
  for (const Step& step : A_.steps()) {
    const bool mine = takes_part(step);
    if (mine && A_.communicates()) take_part();
    legs_.push_back({step, mine && step->moves() ? step->prepare() : nullptr, mine});
    if (!mine || !step->moves() || legs_.back().flight) continue;
    for (next_ = 0; next_ < legs_.size(); ++next_) {  // what cannot be split in two halves happens here
      begin_leg();
      wait_until(
          legs_[next_].step->operation().text, [this] { return leg_done(); }, [this] { return waits_for(); });
    }
    legs_.clear();
    next_ = 0;
  }
  if (!legs_.empty()) begin_leg();
}

void Journey::begin_leg() {
  Leg& leg = legs_[next_];
  if (leg.flight)
    leg.flight->launch(resolved(y_));
  else
    y_ = leg.mine ? leg.step->apply(resolved(y_)) : at::empty({0}, y_.options());
}

std::vector<int> Journey::waits_for() const {
  const bool flies = next_ < legs_.size() && legs_[next_].flight;
  return flies ? legs_[next_].flight->waits_for() : std::vector<int>{};
}

bool Journey::leg_done() {
  Leg& leg = legs_[next_];
  if (!leg.flight) return true;
  if (!leg.flight->done()) return false;
  y_ = leg.flight->result();
  return true;
}

bool Journey::go_on() {
  const LayerScope layer(origin_);  // on whatever thread
  while (next_ < legs_.size()) {
    if (!leg_done()) return false;
    if (++next_ < legs_.size()) begin_leg();
  }
  legs_.clear();  // the background may hold on to this for a while; what it moved need not live so long
  return true;
}

const std::string& Journey::operation() const {
  const Step& step = next_ < legs_.size() ? legs_[next_].step : A_.steps().back();
  return step->operation().text;
}

at::Tensor Journey::result() {
  wait();
  return std::exchange(y_, at::Tensor());
}

}  // namespace riesz
