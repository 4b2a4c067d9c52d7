// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/zero_impl.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <map>
#include <string>

#include "riesz/comm/consistency_checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/table_text.h"
#include "riesz/comm/trace/range.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/primitives/all_max.h"

namespace riesz {
namespace {

/// Those over which gradients are summed.
std::vector<std::string> axes_of(const Partition& P, const std::vector<std::string>& chosen) {
  for (const std::string& axis : chosen) {
    RIESZ_CHECK(
        P.find(axis) >= 0, "Zero: there is no axis ", axis, " on the grid ", to_string(P),
        ", so nothing would be summed or sharded over it; name axes of the grid in ZeroOptions::axes");
  }
  if (!chosen.empty()) return chosen;
  std::vector<std::string> axes;
  for (const char* axis : {"dp", "ep", "sp"}) {
    if (P.find(axis) >= 0) axes.emplace_back(axis);
  }
  RIESZ_CHECK(
      !axes.empty(), "Zero: the grid ", to_string(P),
      " has no axis dp, ep or sp, so nothing would "
      "be summed or sharded; name its axes that share out the batch in ZeroOptions::axes, or give it a "
      "dp of 1");
  return axes;
}

}  // namespace

Zero::Impl::Impl(const std::vector<Parameter>& given, const Partition& shared, const ZeroOptions& chosen)
    : options(chosen), live(lifetimes_of(chosen.stage)), parameters(given), workers(shared) {
  RIESZ_CHECK(options.prefetch >= 0 && options.prefetch <= 1, "Zero: ", options.prefetch,
              " units ahead; 0 or 1");
  RIESZ_CHECK(options.waiting.value_or(0) >= 0, "Zero: ", *options.waiting,
              " elements of gradients may wait; 0 or more (ZeroOptions::waiting)");
  for (const Parameter& parameter : parameters) {
    RIESZ_CHECK(
        parameter.space().partition() == partition(), "Zero: ", parameter.name(), " lies on ",
        to_string(parameter.space().partition()), " of ranks ",
        list_text(parameter.space().partition().workers()), ", ", parameters.front().name(), " on ",
        to_string(partition()), " of ranks ", list_text(partition().workers()),
        "; they must share one partition: where a model has several stages, StageZeros(model, options) "
        "gives each of them a Zero");
    RIESZ_CHECK(!parameter.has_keeper(), "Zero: ", parameter.name(),
                " is kept by another already; one is enough");
    device = parameters.front().device();
    RIESZ_CHECK(parameter.device() == device, "Zero: ", parameter.name(), " is on ", parameter.device(), ", ",
                parameters.front().name(), " on ", device,
                "; a model's parameters are on one device, which initialise is given");
  }
  const std::vector<std::string> axes = axes_of(workers, options.axes);
  if (consistency_checks()) check_values();  // once sharded, they cannot be told from others
  plan = plan_units(parameters, axes, gathers_for_a_use() ? 0 : options.bucket);
  place.resize(parameters.size());
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    buckets.push_back(std::make_unique<Bucket>(plan.buckets[b], parameters, options.stage, options.keep));
    for (std::size_t k = 0; k < plan.buckets[b].parameters.size(); ++k)
      place[plan.buckets[b].parameters[k]] = {b, k};
  }
  for (const auto& bucket : buckets)
    alone = alone && bucket->team().size() == 1 && bucket->type() == bucket->sum_type();
  Visits::Events events;
  events.enter = [this](std::size_t unit, std::optional<std::size_t> next) { enter(unit, next); };
  events.waits = [this](std::size_t unit, std::uint64_t pass) { reductions->waits(unit, pass); };
  events.passed = [this](std::size_t unit, std::uint64_t pass, bool again) {
    reductions->passed(unit, pass, again);
  };
  events.left_out = [this](std::size_t unit) { reductions->left_out(unit); };
  visits.emplace(plan.units.size(), std::move(events));
  reductions.emplace(plan, buckets, live, most_waiting(), *visits);
}

void Zero::Impl::check_values() const {
  for (const Parameter& parameter : parameters)
    check_alike("the parameter " + parameter.name(), parameter.space(), parameter.leaf());
}

/// Bucket after bucket, so that what a parameter held is free before the next ones' memory is taken.
void Zero::Impl::take_over(const std::shared_ptr<Impl>& self) {
  std::map<std::pair<std::vector<std::string>, at::ScalarType>, std::vector<Bucket*>> teams;
  std::vector<std::vector<Bucket*>*> order;  // alike on all workers
  for (const auto& bucket : buckets) {
    auto& team = teams[{bucket->plan().axes, bucket->type()}];
    if (team.empty()) order.push_back(&team);
    team.push_back(bucket.get());
  }
  for (const auto* team : order) {
    const std::shared_ptr<TeamMemory> memory = memory_of(*team);
    for (Bucket* bucket : *team) {
      bucket->take_over(memory);
      for (std::size_t k = 0; k < bucket->plan().parameters.size(); ++k) {
        const std::size_t key = bucket->plan().parameters[k];
        parameters[key].give_to(self, key, bucket->use_space(k), bucket->leaf(k));
      }
    }
  }
}

/// What buckets of one team and type share: their pieces in stage 3, and buffers for their gradients, which
/// together with the sums hold no more than whole gradients do.
std::shared_ptr<TeamMemory> Zero::Impl::memory_of(const std::vector<Bucket*>& team) {
  const auto memory = std::make_shared<TeamMemory>();
  const Bucket& any = *team.front();
  const int p = any.team().size();
  if (p == 1 || !reductions->every_micro_batch()) return memory;
  std::int64_t all = 0, pieces = 0, most = 0;
  for (const Bucket* bucket : team) {
    all += bucket->elements();
    pieces += bucket->team().largest();
    most = std::max(most, bucket->elements());
  }
  const std::vector<int>& workers = any.team().workers;
  if (gathers_for_a_use()) memory->pieces = std::make_unique<TeamBuffer>(workers, pieces, any.type(), device);
  // Small beside what is saved; but a segment of few elements is all overhead.
  constexpr std::int64_t kFew = std::int64_t{1} << 16;
  const std::int64_t saved = all - pieces;
  const std::int64_t share = std::max(saved / 8, std::min(kFew, saved / 2));
  const std::int64_t segment = std::max<std::int64_t>(p, std::min(options.segment, share));
  memory->passing = PassingBuffers(workers, std::min(most, segment), any.sum_type(), device);
  passing_bytes += memory->passing.bytes();
  return memory;
}

/// In stage 3 backward waits for each unit.
std::optional<std::int64_t> Zero::Impl::most_waiting() const {
  const bool waits = live.gradients == Lifetimes::Gradients::a_micro_batch && !gathers_for_a_use();
  if (!waits || !options.waiting) return std::nullopt;
  std::int64_t of_a_pass = 0;
  const Bucket* first = nullptr;
  for (const auto& bucket : buckets) {
    if (bucket->team().size() == 1) continue;
    of_a_pass += bucket->elements();
    if (first == nullptr) first = bucket.get();
    RIESZ_CHECK(bucket->team().workers == first->team().workers, "Zero: the gradients of ", bucket->name(),
                " are summed over other workers than those of ", first->name(),
                ", so workers may wait for each other in a circle; leave ZeroOptions::waiting out");
  }
  return std::min(*options.waiting, of_a_pass);
}

void Zero::Impl::use(std::size_t key) {
  const std::size_t unit = plan.unit_of[key];
  buckets[place[key].first]->check_unwritten(place[key].second);
  if (!alone) visits->begin_use(parameters[key].name());
  if (at::GradMode::is_enabled()) reductions->open();
  if (!alone) visits->visit(unit, device);
}

void Zero::Impl::enter(std::size_t unit, std::optional<std::size_t> following) {
  reductions->go_on();
  const std::size_t ahead = options.prefetch > 0 ? following.value_or(unit) : unit;
  for (const std::size_t other : fetched) {
    if (other == unit || other == ahead) continue;
    for (const std::size_t b : plan.units[other].buckets) {
      if (!buckets[b]->kept()) buckets[b]->release();
    }
  }
  fetched = {unit, ahead};
  fetch(unit);
  for (const std::size_t b : plan.units[unit].buckets) buckets[b]->values().wait();
  if (gathers_for_a_use()) fetch(ahead);
}

void Zero::Impl::fetch(std::size_t unit) {
  const LayerScope layer(plan.units[unit].name);
  const Range range(RangeKind::layer, plan.units[unit].name, [] { return "fetch"; });
  for (const std::size_t b : plan.units[unit].buckets) buckets[b]->fetch();
}

void Zero::Impl::begin(std::int64_t i, std::int64_t of) {
  reductions->begin(i, of);
  begin_generation();
}

std::vector<Share> Zero::Impl::shares() {
  const at::NoGradGuard no_gradient;
  const LayerScope layer("", Phase::update);
  const Range range(RangeKind::phase, "reduce");
  for (const auto& [b, k] : place) buckets[b]->check_unwritten(k);
  reductions->check_all_came();
  reductions->finish();
  std::vector<Share> shares;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    buckets[b]->values().wait();
    for (Share& share : buckets[b]->shares(!reduced())) {
      share.part = b;
      shares.push_back(std::move(share));
    }
  }
  return shares;
}

void Zero::Impl::keep_masters_in(std::vector<std::shared_ptr<const StateElsewhere>> places) {
  const at::NoGradGuard no_gradient;
  auto next = places.begin();
  for (const auto& bucket : buckets) {
    const auto first = next;
    if (!places.empty()) next += static_cast<std::ptrdiff_t>(bucket->plan().parameters.size());
    bucket->keep_masters_in({first, next});
  }
}

void Zero::Impl::cast_masters() {
  const at::NoGradGuard no_gradient;
  for (const auto& bucket : buckets) bucket->cast_masters();
}

State Zero::Impl::state() {
  const at::NoGradGuard no_gradient;
  State state;
  for (const auto& bucket : buckets) {
    for (StateView& view : bucket->state()) state.push_back(std::move(view));
  }
  return state;
}

void Zero::Impl::spread(std::size_t part) {
  const at::NoGradGuard no_gradient;
  const LayerScope layer(buckets[part]->name(), Phase::update);
  const Range range(RangeKind::layer, buckets[part]->name(), [] { return "update"; });
  buckets[part]->updated();
  if (part + 1 < buckets.size()) return;
  if (live.values == Lifetimes::Values::always && consistency_checks()) check_values();
  fetched.clear();
}

void Zero::Impl::zero_gradients() {
  const at::NoGradGuard no_gradient;
  reductions->drop();
  visits->forget_ended();
  begin_generation();
}

/// On any worker: with how many passes gradients came may differ.
std::int64_t Zero::Impl::rounds_come() {
  visits->say_ended();
  const at::Tensor mine = at::empty({1}, at::kLong).fill_(reductions->rounds_come());
  std::vector<std::string> axes;
  for (const Axis& axis : partition().axes()) axes.push_back(axis.name);
  return host_value(all_max(partition(), axes, mine), reductions->rounds_come());
}

at::Tensor Zero::Impl::gradient(std::size_t key) {
  const at::NoGradGuard no_gradient;
  Bucket& bucket = *buckets[place[key].first];
  const std::size_t k = place[key].second;
  if (reductions->state() == Reductions::State::open) {
    if (!reduced() || alone) return bucket.gradient_so_far(k, false);
    const std::int64_t rounds = rounds_come();
    if (rounds < reductions->rounds()) return gradient_so_far(bucket, k, rounds);
  }
  reductions->finish();
  return reduced() ? bucket.gradient(k) : bucket.own_gradient(k);
}

/// The step goes on.
at::Tensor Zero::Impl::gradient_so_far(Bucket& bucket, std::size_t k, std::int64_t rounds) {
  if (bucket.live().gradients == Lifetimes::Gradients::a_step) return bucket.gradient_so_far(k, true);
  if (rounds == 0 && !reductions->some_left()) return at::zeros_like(bucket.leaf(k), bucket.sum_type());
  reductions->settle(rounds);
  return bucket.gradient(k);
}

void Zero::Impl::set(std::size_t key, const at::Tensor& local) {
  const auto [b, k] = place[key];
  buckets[b]->set(k, local);
}

}  // namespace riesz
