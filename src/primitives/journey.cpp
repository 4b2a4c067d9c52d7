// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/journey.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <utility>

#include "riesz/comm/checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/part_taken.h"
#include "riesz/comm/resolved.h"
#include "riesz/comm/wait.h"
#include "riesz/primitives/check_input.h"

namespace riesz {
namespace {

bool takes_part(const Step& step) {
  return step->domain().partition().active() || step->range().partition().active();
}

/// Do messages lie in x until it is waited for? Between two partitions they are copied out of it at the
/// start.
bool lies_in_x(const Operator& A) {
  for (const Step& step : A.steps()) {
    if (step->moves()) return step->domain().partition() == step->range().partition();
  }
  return false;
}

/// Also where they are NaN.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const auto bytes = [](const at::Tensor& x) { return resolved(x).contiguous().view({-1}).view(at::kByte); };
  return at::equal(bytes(a), bytes(b));
}

/// Nothing else has its memory, so what writes there writes x.
bool has_its_memory_alone(const at::Tensor& x) { return x.storage().nbytes() == x.nbytes(); }

}  // namespace

Journey::Journey(const Operator& A, const at::Tensor& x) : A_(A), y_(x.detach()) {
  const at::NoGradGuard no_gradient;
  detail::check_input(A, x);
  if (lies_in_x(A)) {
    if (checks()) {
      x_ = y_;
      copy_ = x_.clone();
    } else if (!y_.is_inference() && has_its_memory_alone(y_)) {
      written_ = [counter = y_.unsafeGetTensorImpl()->version_counter(), version = y_._version()] {
        return counter.current_version() != version;
      };
    }
  }
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

void Journey::check_unwritten() const {
  const bool written = x_.defined() ? !same_bits(x_, copy_) : written_ && written_();
  RIESZ_CHECK(!written, to_string(A_),
              ": x was written between start and wait, while it was sent; wait first, or start with ",
              "x.clone()");
}

at::Tensor Journey::result() {
  wait();
  check_unwritten();
  return std::exchange(y_, at::Tensor());
}

}  // namespace riesz
