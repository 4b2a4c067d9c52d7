// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/visits.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/chain.h"

namespace riesz {

/// Lives as long as what its chain records after it.
struct Visits::Visit {
  std::weak_ptr<State> state;
  std::uint64_t recording;
  std::size_t unit;
  std::shared_ptr<Visit> before;
  bool passed = false;  // by backward

  ~Visit();
};

struct Visits::State : std::enable_shared_from_this<Visits::State> {
  Events events;
  std::vector<std::optional<std::size_t>> followers;   // of each unit, when it was last left
  std::vector<std::int64_t> open;                      // visits that backward has not passed
  std::map<std::uint64_t, std::weak_ptr<Visit>> last;  // by what a chain records
  std::vector<std::weak_ptr<Visit>>
      back;  // where backward is; a region that is computed again is in another's
  std::optional<std::pair<std::uint64_t, std::size_t>> where_last;  // 0: nothing recorded

  void come_to(std::uint64_t recording, std::size_t unit) {
    if (where_last && where_last->first == recording && where_last->second != unit)
      followers[where_last->second] = unit;
    where_last = {recording, unit};
    const auto follower = followers[unit];
    events.enter(unit, follower == unit ? std::nullopt : follower);
  }

  void go_back_to(const std::shared_ptr<Visit>& visit) {
    back.push_back(visit);
    events.enter(visit->unit, visit->before ? std::optional(visit->before->unit) : std::nullopt);
  }

  void leave(Visit& visit) {
    stop_in(visit.recording);
    if (!std::exchange(visit.passed, true) && --open[visit.unit] == 0) events.done(visit.unit);
    if (visit.before) return go_back_to(visit.before);
    last.erase(visit.recording);
    if (const auto around = innermost()) go_back_to(around);
  }

  void stop_in(std::uint64_t recording) {
    std::erase_if(back, [&](const auto& each) {
      const auto visit = each.lock();
      return visit == nullptr || visit->recording == recording;
    });
  }

  std::shared_ptr<Visit> innermost() {
    const auto visit = back.empty() ? nullptr : back.back().lock();
    if (!back.empty()) back.pop_back();
    return visit;
  }
};

/// Backward will not come any more: the loss was not computed, or nobody wanted its gradient.
Visits::Visit::~Visit() {
  const auto alive = state.lock();
  if (alive == nullptr) return;
  if (!passed) --alive->open[unit];
  const auto found = alive->last.find(recording);
  if (found != alive->last.end() && found->second.expired()) alive->last.erase(found);
}

Visits::Visits(std::size_t units, Events events) : state_(std::make_shared<State>()) {
  state_->events = std::move(events);
  state_->followers.resize(units);
  state_->open.resize(units, 0);
}

void Visits::visit(std::size_t unit, const std::string& what, at::Device device) {
  if (!at::GradMode::is_enabled()) return state_->come_to(0, unit);
  Chain* chain = Chain::current();
  RIESZ_CHECK(
      chain != nullptr, what, " is used while gradients are recorded, but outside a chain, in whose ",
      "backward they are reduced: open one around the computation of a loss (riesz::Chain chain;), or "
      "record none (at::NoGradGuard guard;)");
  const std::uint64_t recording = chain->recording();
  state_->come_to(recording, unit);
  const auto last = state_->last[recording].lock();
  if (last && last->unit == unit) return;
  const auto visit = std::make_shared<Visit>(state_, recording, unit, last);
  state_->last[recording] = visit;
  ++state_->open[unit];
  chain->on_backward(
      [visit] {
        if (const auto alive = visit->state.lock()) alive->leave(*visit);
      },
      device);
  chain->before_backward([visit] {
    if (const auto alive = visit->state.lock()) alive->go_back_to(visit);
  });
}

}  // namespace riesz
