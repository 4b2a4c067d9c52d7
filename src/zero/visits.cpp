// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/visits.h"

#include <ATen/core/grad_mode.h>

#include <string>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/primitives/chain.h"

namespace riesz {

struct Visits::State : std::enable_shared_from_this<Visits::State> {
  Events events;
  std::vector<std::optional<std::size_t>> followers;                // of each unit, when it was last left
  std::vector<std::int64_t> open;                                   // visits that backward has not passed
  std::map<std::uint64_t, std::shared_ptr<const Visit>> last;       // by what a chain records
  std::optional<std::pair<std::uint64_t, std::size_t>> where_last;  // 0: nothing recorded

  void come_to(std::uint64_t recording, std::size_t unit) {
    if (where_last && where_last->first == recording && where_last->second != unit)
      followers[where_last->second] = unit;
    where_last = {recording, unit};
    const auto follower = followers[unit];
    events.enter(unit, follower == unit ? std::nullopt : follower);
  }

  void go_back_to(const Visit& visit) {
    events.enter(visit.unit, visit.before ? std::optional(visit.before->unit) : std::nullopt);
  }

  void leave(std::uint64_t recording, const Visit& visit) {
    if (--open[visit.unit] == 0) events.done(visit.unit);
    if (visit.before)
      go_back_to(*visit.before);
    else
      last.erase(recording);
  }
};

Visits::Visits(std::size_t units, Events events) : state_(std::make_shared<State>()) {
  state_->events = std::move(events);
  state_->followers.resize(units);
  state_->open.resize(units, 0);
}

void Visits::visit(std::size_t unit, const std::string& what) {
  if (!at::GradMode::is_enabled()) return state_->come_to(0, unit);
  Chain* chain = Chain::current();
  RIESZ_CHECK(
      chain != nullptr, what, " is used while gradients are recorded, but outside a chain, in whose ",
      "backward they are reduced: open one around the computation of a loss (riesz::Chain chain;), or "
      "record none (at::NoGradGuard guard;)");
  const std::uint64_t recording = chain->recording();
  std::shared_ptr<const Visit>& last = state_->last[recording];
  state_->come_to(recording, unit);
  if (last && last->unit == unit) return;
  const auto visit = std::make_shared<const Visit>(Visit{unit, last});
  last = visit;
  ++state_->open[unit];
  const std::weak_ptr<State> state = state_;
  chain->on_backward([state, recording, visit] {
    if (const auto alive = state.lock()) alive->leave(recording, *visit);
  });
  chain->before_backward([state, visit] {
    if (const auto alive = state.lock()) alive->go_back_to(*visit);
  });
}

}  // namespace riesz
