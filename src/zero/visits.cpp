// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/visits.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/logical_thread.h"
#include "riesz/comm/thread_state.h"
#include "riesz/nn/call_scope.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

/// The call in the midst of which this thread was made, whose work it continues.
thread_local std::weak_ptr<const void> call_of_maker;

std::weak_ptr<const void> call_here() {
  const auto call = CallScope::outermost();
  return call ? call : call_of_maker;
}

class OfMaker {
 public:
  explicit OfMaker(const std::weak_ptr<const void>& call) { call_of_maker = call; }
  ~OfMaker() { call_of_maker.reset(); }
  OfMaker(const OfMaker&) = delete;
  OfMaker& operator=(const OfMaker&) = delete;
};

const bool carried = carry_to_threads(
    []() -> ReopenOnThread { return [call = call_here()] { return std::make_shared<OfMaker>(call); }; });

}  // namespace

struct Visits::Pass {
  Pass(const std::shared_ptr<const std::uint64_t>& of, std::size_t units)
      : number(*of),
        life(of),
        open(units, 0),
        to_come(units, 0),
        visited(units, false),
        passed(units, false) {}

  bool ended() const { return life.expired(); }

  std::uint64_t number;
  std::weak_ptr<const std::uint64_t> life;  // until it is over
  bool went_back = false;
  std::vector<std::int64_t> open;     // visits of each unit that are not over
  std::vector<std::int64_t> to_come;  // uses of each in regions that are to be computed again
  std::vector<bool> visited, passed;  // units
};

/// Lives as long as what its chain records after it.
struct Visits::Visit {
  Visit(std::weak_ptr<State> in, std::shared_ptr<Pass> part_of, std::uint64_t recorded, std::size_t of,
        std::shared_ptr<Visit> previous)
      : state(std::move(in)),
        pass(std::move(part_of)),
        tape(recorded),
        unit(of),
        before(std::move(previous)) {}
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  std::weak_ptr<State> state;
  std::shared_ptr<Pass> pass;
  std::uint64_t tape;
  std::size_t unit;
  std::shared_ptr<Visit> before;
  DeferredGradients::Queue later;  // that may put its gradients off
  bool of_several = false;         // chains of its pass
  bool left = false;               // by backward
  bool over = false;
};

struct Visits::State {
  Events events;
  std::vector<std::optional<std::size_t>> followers;   // of each unit, when it was last left
  std::vector<std::int64_t> open;                      // visits of each unit that are not over
  std::map<std::uint64_t, std::weak_ptr<Visit>> last;  // by what a chain records
  std::vector<std::shared_ptr<Pass>> passes;           // that are under way
  std::int64_t went_back = 0;                          // of those that were
  std::vector<std::weak_ptr<Visit>>
      back;  // where backward is; a region that is computed again is in another's
  struct Place {
    std::uint64_t tape;              // 0: nothing recorded
    std::weak_ptr<const void> call;  // of a model, while nothing is recorded: one does not follow another
    std::size_t unit;
  };
  std::optional<Place> where_last;

  /// Who used a unit last, and in which call.
  struct User {
    std::uint64_t thread = 0;  // logical
    std::weak_ptr<const void> call;
  };
  std::mutex mutex;  // of the user: all else is that thread's
  User user;

  void check_one_at_a_time(const std::string& what) {
    const std::lock_guard lock(mutex);
    const auto call = user.call.lock();
    if (call && call == call_of_maker.lock()) return;  // goes on
    RIESZ_CHECK(user.thread == LogicalThread::here() || call == nullptr, "Zero: ", what,
                " is used in a call of the model while another thread is in a call of it; passes may go on "
                "in any thread, but one at a time: let the threads take turns, or give each a model and a "
                "Zero of its own");
    user = {LogicalThread::here(), CallScope::outermost()};
  }

  void come_to(std::uint64_t tape, std::size_t unit) {
    const auto call = CallScope::outermost();
    const bool goes_on =
        where_last && where_last->tape == tape && (tape != 0 || (call && where_last->call.lock() == call));
    if (goes_on && where_last->unit != unit) followers[where_last->unit] = unit;
    where_last = {tape, call, unit};
    const auto follower = after(tape, unit);
    events.enter(unit, follower == unit ? std::nullopt : follower);
  }

  /// A region that is computed again ends where backward is, which goes on from there.
  std::optional<std::size_t> after(std::uint64_t tape, std::size_t unit) const {
    const auto around = back.empty() ? nullptr : back.back().lock();
    const bool at_its_end = around && around->tape != tape && around->unit == unit;
    if (!at_its_end) return followers[unit];
    return around->before ? std::optional(around->before->unit) : std::nullopt;
  }

  void go_back_to(const std::shared_ptr<Visit>& visit) {
    back.push_back(visit);
    visit->pass->went_back = true;
    events.enter(visit->unit, visit->before ? std::optional(visit->before->unit) : std::nullopt);
  }

  void leave(const std::shared_ptr<Visit>& visit) {
    stop_in(visit->tape);
    if (!std::exchange(visit->left, true)) end(visit);
    if (visit->before) return go_back_to(visit->before);
    last.erase(visit->tape);
    if (const auto around = innermost()) go_back_to(around);
  }

  void end(const std::shared_ptr<Visit>& visit) {
    if (const auto later = std::exchange(visit->later, nullptr)) {
      events.waits(visit->unit, visit->pass->number);
      return DeferredGradients::after_these(later, [this, visit] {
        if (!visit->state.expired()) end(visit);
      });
    }
    visit->over = true;
    --open[visit->unit];
    Pass& pass = *visit->pass;
    const bool more = pass.to_come[visit->unit] > 0 && !pass.ended();
    if (--pass.open[visit->unit] == 0 && !more) return say_passed(pass, visit->unit);
    if (visit->of_several && pass.open[visit->unit] > 0 && !comes_again(*visit))
      events.waits(visit->unit, pass.number);
  }

  /// Is the unit still to be visited in the backward of this chain?
  static bool comes_again(const Visit& visit) {
    for (const Visit* earlier = visit.before.get(); earlier != nullptr; earlier = earlier->before.get()) {
      if (earlier->unit == visit.unit) return true;
    }
    return false;
  }

  void say_passed(Pass& pass, std::size_t unit) {
    const bool again = pass.passed[unit];
    pass.passed[unit] = true;
    events.passed(unit, pass.number, again);
  }

  void stop_in(std::uint64_t tape) {
    std::erase_if(back, [&](const auto& each) {
      const auto visit = each.lock();
      return visit == nullptr || visit->tape == tape || visit->pass->ended();
    });
  }

  std::shared_ptr<Visit> innermost() {
    const auto visit = back.empty() ? nullptr : back.back().lock();
    if (!back.empty()) back.pop_back();
    return visit;
  }

  std::shared_ptr<Pass> pass_of(const Chain& chain) {
    if (const auto around = back.empty() ? nullptr : back.back().lock(); around && !around->pass->ended())
      return around->pass;  // also on another thread of autograd's
    const auto life = chain.pass();
    for (const auto& pass : passes) {
      if (pass->life.lock() == life) return pass;
    }
    passes.push_back(std::make_shared<Pass>(life, followers.size()));
    return passes.back();
  }

  std::vector<std::shared_ptr<Pass>> take_ended() {
    std::vector<std::shared_ptr<Pass>> ended;
    std::erase_if(passes, [&](const auto& pass) {
      if (!pass->ended()) return false;
      went_back += pass->went_back ? 1 : 0;
      ended.push_back(pass);
      return true;
    });
    return ended;
  }

  void say_what_ended() {
    for (const auto& pass : take_ended()) {
      for (std::size_t unit = 0; pass->went_back && unit < pass->passed.size(); ++unit) {
        if (pass->passed[unit] || pass->open[unit] > 0) continue;
        if (pass->visited[unit])
          say_passed(*pass, unit);
        else
          events.left_out(unit);
      }
    }
  }

  /// What is not recorded now is perhaps computed again when backward comes.
  void use_unrecorded(const Chain* chain, std::size_t unit) {
    if (chain != nullptr && !chain->in_backward()) ++pass_of(*chain)->to_come[unit];
    come_to(0, unit);
  }
};

/// Backward will not come any more: the loss was not computed, or nobody wanted its gradient.
Visits::Visit::~Visit() {
  const auto alive = state.lock();
  if (alive == nullptr) return;
  if (!over) {
    --alive->open[unit];
    --pass->open[unit];
  }
  const auto found = alive->last.find(tape);
  if (found != alive->last.end() && found->second.expired()) alive->last.erase(found);
}

Visits::Visits(std::size_t units, Events events) : state_(std::make_shared<State>()) {
  state_->events = std::move(events);
  state_->followers.resize(units);
  state_->open.resize(units, 0);
}

bool Visits::open(std::size_t unit) const { return state_->open[unit] > 0; }

Visits::Passes Visits::passes() const {
  Passes sum{state_->went_back, 0};
  for (const auto& pass : state_->passes) {
    const bool open = std::any_of(pass->open.begin(), pass->open.end(), [](std::int64_t n) { return n > 0; });
    sum.went_back += pass->went_back ? 1 : 0;
    sum.under_way += open && !pass->went_back ? 1 : 0;
  }
  return sum;
}

void Visits::say_ended() { state_->say_what_ended(); }

void Visits::forget_ended() {
  state_->take_ended();
  state_->went_back = 0;
}

void Visits::begin_use(const std::string& what) {
  state_->check_one_at_a_time(what);
  RIESZ_CHECK(
      !at::GradMode::is_enabled() || Chain::current() != nullptr, what,
      " is used while gradients are recorded, but outside a chain, in whose ",
      "backward they are reduced: open one around the computation of a loss (riesz::Chain chain;), or "
      "record none (at::NoGradGuard guard;)");
}

void Visits::visit(std::size_t unit, at::Device device) {
  state_->say_what_ended();
  Chain* chain = Chain::current();
  if (!at::GradMode::is_enabled()) return state_->use_unrecorded(chain, unit);
  const std::uint64_t tape = chain->tape();
  state_->come_to(tape, unit);
  const auto pass = state_->pass_of(*chain);
  pass->visited[unit] = true;
  // On a thread of autograd's own a chain does not know that it recomputes.
  if (chain->recomputes() || pass->life.lock() != chain->pass()) --pass->to_come[unit];
  auto last = state_->last[tape].lock();
  const bool stays = last && last->unit == unit;
  const auto visit = stays ? last : std::make_shared<Visit>(state_, pass, tape, unit, std::move(last));
  if (const auto later = DeferredGradients::current()) visit->later = later;
  if (stays) return;
  visit->of_several = !chain->recomputes() && chain->lifetime() != chain->pass();
  state_->last[tape] = visit;
  ++state_->open[unit];
  ++visit->pass->open[unit];
  chain->on_backward(
      [visit] {
        if (const auto alive = visit->state.lock()) alive->leave(visit);
      },
      device);
  chain->before_backward(state_.get(), [visit] {
    if (const auto alive = visit->state.lock()) alive->go_back_to(visit);
  });
}

}  // namespace riesz
