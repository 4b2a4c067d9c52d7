// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/zero.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <sstream>
#include <utility>

#include "riesz/comm/checks.h"
#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/contraction/deferred_gradients.h"
#include "riesz/partition/alike.h"
#include "riesz/zero/bucket.h"
#include "riesz/zero/units.h"
#include "riesz/zero/visits.h"

namespace riesz {

struct Zero::Impl final : ParameterKeeper, Store {
  Impl(const std::vector<Parameter>& given, const ZeroOptions& chosen);
  ~Impl() override { --living; }

  // ParameterKeeper
  void use(std::size_t key) override;
  bool is_here(std::size_t key) const override { return buckets[place[key].first]->there(); }
  at::Tensor gradient(std::size_t key) override;
  void set(std::size_t key, const at::Tensor& local) override;
  // Store
  std::vector<Share> shares() override;
  void updated() override;
  void zero_gradients() override;
  Holds holds() const override {
    if (options.stage == 0) return Holds::whole;
    return options.stage == 1 ? Holds::whole_gradients : Holds::parts;
  }
  bool reduced() const override { return reducing; }
  const Partition& partition() const override { return parameters.front().space().partition(); }

  void check_values() const;
  void share_memory();
  void make_memory(TeamMemory& memory, const Bucket& any, std::int64_t pieces, std::int64_t most);
  void enter(std::size_t unit, std::optional<std::size_t> following);
  void fetch(std::size_t unit);
  void done(std::size_t unit);
  void begin(std::int64_t i, std::int64_t of);
  void reduce_ready(bool wait);
  void reduce_all();
  void finish();
  void end_reductions();
  bool every_micro_batch() const { return options.stage >= 2; }
  /// Does this micro-batch's backward end with reductions?
  bool reduces() const { return reducing && (last || every_micro_batch()); }

  static inline std::atomic<int> living = 0;  // on this worker

  ZeroOptions options;
  std::vector<Parameter> parameters;
  at::Device device = at::kCPU;  // of all parameters
  UnitPlan plan;
  std::vector<std::unique_ptr<Bucket>> buckets;
  std::vector<std::pair<std::size_t, std::size_t>> place;  // of each parameter: its bucket, its number there
  std::optional<Visits> visits;
  std::vector<std::size_t> live;  // stage 3: units whose values are here or on their way

  bool alone = true;  // does no bucket have a team?
  bool last = true;   // is this micro-batch the last of the step?
  bool reducing = true;
  bool used = false;          // has the step begun?
  bool finished = false;      // are the step's gradients reduced?
  std::vector<bool> ready;    // by bucket
  std::vector<bool> put_off;  // by unit: some gradients come after backward
  std::size_t next = 0;       // buckets from the last one on are reduced in this order
  std::int64_t passing_bytes = 0;
};

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
  for (const char* axis : {"dp", "sp"}) {
    if (P.find(axis) >= 0) axes.emplace_back(axis);
  }
  RIESZ_CHECK(
      !axes.empty(), "Zero: the grid ", to_string(P),
      " has neither an axis dp nor sp, so nothing would "
      "be summed or sharded; name its axes that share out the batch in ZeroOptions::axes, or give it a "
      "dp of 1");
  return axes;
}

}  // namespace

Zero::Impl::Impl(const std::vector<Parameter>& given, const ZeroOptions& chosen)
    : options(chosen), parameters(given) {
  RIESZ_CHECK(options.stage >= 0 && options.stage <= 3, "Zero: stage ", options.stage,
              "; there are 0 (data parallel), 1, 2 and 3");
  RIESZ_CHECK(options.prefetch >= 0 && options.prefetch <= 1, "Zero: ", options.prefetch,
              " units ahead; 0 or 1");
  RIESZ_CHECK(!parameters.empty(), "Zero: there are no parameters");
  for (const Parameter& parameter : parameters) {
    RIESZ_CHECK(parameter.space().partition() == partition(), "Zero: ", parameter.name(), " lies on ",
                to_string(parameter.space().partition()), ", ", parameters.front().name(), " on ",
                to_string(partition()), "; they must share one partition");
    RIESZ_CHECK(!parameter.has_keeper(), "Zero: ", parameter.name(),
                " is kept by another already; one is enough");
    device = parameters.front().leaf().device();
    RIESZ_CHECK(parameter.leaf().device() == device, "Zero: ", parameter.name(), " is on ",
                parameter.leaf().device(), ", ", parameters.front().name(), " on ", device,
                "; a model's parameters are on one device, which initialise is given");
  }
  if (checks()) check_values();  // once sharded, they cannot be told from others
  plan = plan_units(parameters, axes_of(partition(), options.axes), options.stage == 3 ? 0 : options.bucket);
  place.resize(parameters.size());
  for (std::size_t b = 0; b < plan.buckets.size(); ++b) {
    buckets.push_back(std::make_unique<Bucket>(plan.buckets[b], parameters, options.stage, options.keep));
    for (std::size_t k = 0; k < plan.buckets[b].parameters.size(); ++k)
      place[plan.buckets[b].parameters[k]] = {b, k};
  }
  for (const auto& bucket : buckets) alone = alone && bucket->team().size() == 1;
  ready.resize(buckets.size(), false);
  put_off.resize(plan.units.size(), false);
  share_memory();
  ++living;
}

void Zero::Impl::check_values() const {
  for (const Parameter& parameter : parameters)
    check_alike("the parameter " + parameter.name(), parameter.space(), parameter.leaf());
}

/// One for each team: its pieces in stage 3, and two buffers as large as its largest bucket.
void Zero::Impl::share_memory() {
  std::map<std::vector<std::string>, std::vector<Bucket*>> teams;
  std::vector<std::vector<std::string>> order;  // alike on all workers
  for (const auto& bucket : buckets) {
    auto& team = teams[bucket->plan().axes];
    if (team.empty()) order.push_back(bucket->plan().axes);
    team.push_back(bucket.get());
  }
  for (const auto& axes : order) {
    const Bucket& any = *teams[axes].front();
    const auto memory = std::make_shared<TeamMemory>();
    std::int64_t pieces = 0, most = 0;
    for (const Bucket* bucket : teams[axes]) {
      pieces += bucket->team().largest();
      most = std::max(most, bucket->elements());
    }
    if (any.team().size() > 1 && every_micro_batch()) make_memory(*memory, any, pieces, most);
    for (Bucket* bucket : teams[axes]) bucket->take_over(memory);
  }
}

void Zero::Impl::make_memory(TeamMemory& memory, const Bucket& any, std::int64_t pieces, std::int64_t most) {
  if (options.stage == 3)
    memory.pieces = std::make_unique<TeamBuffer>(any.team().workers, pieces, any.type(), device);
  for (auto& buffer : memory.passing.buffers) {
    buffer = std::make_unique<TeamBuffer>(any.team().workers, most, any.sum_type(), device);
    passing_bytes += most * static_cast<std::int64_t>(buffer->local().element_size());
  }
}

void Zero::Impl::use(std::size_t key) {
  const std::size_t unit = plan.unit_of[key];
  buckets[place[key].first]->check_unwritten(place[key].second);
  if (!used && at::GradMode::is_enabled()) {
    used = true;
    finished = false;
  }
  if (alone) return;
  if (DeferredGradients::is_open()) put_off[unit] = true;
  visits->visit(unit, parameters[key].name(), device);
}

void Zero::Impl::enter(std::size_t unit, std::optional<std::size_t> following) {
  const std::size_t ahead = options.prefetch > 0 ? following.value_or(unit) : unit;
  for (const std::size_t other : live) {
    if (other == unit || other == ahead) continue;
    for (const std::size_t b : plan.units[other].buckets) {
      if (!buckets[b]->kept()) buckets[b]->let_go();
    }
  }
  live = {unit, ahead};
  fetch(unit);
  for (const std::size_t b : plan.units[unit].buckets) buckets[b]->use();
  if (options.stage == 3) fetch(ahead);
}

void Zero::Impl::fetch(std::size_t unit) {
  const LayerScope layer(plan.units[unit].name);
  for (const std::size_t b : plan.units[unit].buckets) buckets[b]->fetch();
}

void Zero::Impl::done(std::size_t unit) {
  if (put_off[unit]) return;
  for (const std::size_t b : plan.units[unit].buckets) {
    RIESZ_CHECK(!buckets[b]->reduced(), "Zero: backward comes to ", buckets[b]->name(),
                " again, whose gradients are reduced already; say begin(i, of) before each of a step's "
                "micro-batches, and zero_gradients() after the step");
    ready[b] = reduces();
    if (!reduces()) buckets[b]->take_gradients();
  }
  // Among gathers, and among another's moves, a reduction has its place in the program, so it may not depend
  // on the buffers' turn.
  if (reduces()) reduce_ready(options.stage == 3 || living > 1);
}

/// In one order on all workers: the last bucket first.
void Zero::Impl::reduce_ready(bool wait) {
  for (; next < buckets.size(); ++next) {
    const std::size_t b = buckets.size() - 1 - next;
    if (!ready[b]) return;
    const LayerScope layer(buckets[b]->name(), Phase::backward);
    if (!buckets[b]->reduce(wait)) return;
  }
}

/// What backward has not reached counts as zero.
void Zero::Impl::reduce_all() {
  std::fill(ready.begin(), ready.end(), true);
  reduce_ready(true);
  std::fill(ready.begin(), ready.end(), false);
}

void Zero::Impl::begin(std::int64_t i, std::int64_t of) {
  RIESZ_CHECK(i >= 0 && i < of, "Zero::begin: micro-batch ", i, " of ", of, "; they are counted from 0");
  if (i > 0 && every_micro_batch()) {
    reduce_all();
    for (const auto& bucket : buckets) bucket->again();
    next = 0;
  }
  std::fill(put_off.begin(), put_off.end(), false);
  forget_finite();
  last = i + 1 == of;
  used = true;
  finished = false;
}

void Zero::Impl::finish() {
  if (!used) {
    for (const auto& bucket : buckets) {
      if (!finished) bucket->clear();
    }
    finished = true;
    return;
  }
  end_reductions();
  for (const auto& bucket : buckets) bucket->check_taken();
}

void Zero::Impl::end_reductions() {
  if (finished) return;
  if (reducing) {
    reduce_all();
  } else {
    for (const auto& bucket : buckets) {
      bucket->take_gradients();
      bucket->fill_gradients();
    }
  }
  for (const auto& bucket : buckets) bucket->finish();
  finished = true;
}

std::vector<Share> Zero::Impl::shares() {
  const at::NoGradGuard no_gradient;
  const LayerScope layer("", Phase::update);
  for (const auto& [b, k] : place) buckets[b]->check_unwritten(k);
  finish();
  std::vector<Share> shares(parameters.size(), Share{parameters.front(), 0, {}, {}, false});
  for (const auto& bucket : buckets) {
    bucket->settle();
    std::vector<Share> its = bucket->shares(!reducing);
    for (std::size_t k = 0; k < its.size(); ++k) shares[bucket->plan().parameters[k]] = std::move(its[k]);
  }
  return shares;
}

void Zero::Impl::updated() {
  const at::NoGradGuard no_gradient;
  for (const auto& bucket : buckets) {
    const LayerScope layer(bucket->name(), Phase::update);
    bucket->updated();
  }
  if (options.stage == 0 && checks()) check_values();
  live.clear();
}

void Zero::Impl::zero_gradients() {
  const at::NoGradGuard no_gradient;
  if (used) end_reductions();  // how many have begun may differ between workers
  for (const auto& bucket : buckets) bucket->zero_gradients();
  forget_finite();
  std::fill(ready.begin(), ready.end(), false);
  std::fill(put_off.begin(), put_off.end(), false);
  finished = false;
  used = false;
  last = true;
  next = 0;
}

at::Tensor Zero::Impl::gradient(std::size_t key) {
  const at::NoGradGuard no_gradient;
  finish();
  Bucket& bucket = *buckets[place[key].first];
  return reducing ? bucket.gradient(place[key].second) : bucket.own_gradient(place[key].second);
}

void Zero::Impl::set(std::size_t key, const at::Tensor& local) {
  const auto [b, k] = place[key];
  buckets[b]->set(k, local);
}

Zero::Zero(const std::vector<Parameter>& parameters, const ZeroOptions& options)
    : impl_(std::make_shared<Impl>(trained_among(parameters), options)) {
  Impl* impl = impl_.get();
  impl->visits.emplace(impl->plan.units.size(),
                       Visits::Events{[impl](std::size_t unit, auto next) { impl->enter(unit, next); },
                                      [impl](std::size_t unit) { impl->done(unit); }});
  for (std::size_t key = 0; key < impl->parameters.size(); ++key) {
    const auto [b, k] = impl->place[key];
    const Bucket& bucket = *impl->buckets[b];
    impl->parameters[key].give_to(impl_, key, bucket.use_space(k), bucket.leaf(k));
  }
  if (options.stage == 3) {
    for (const auto& bucket : impl->buckets) bucket->let_go();
  }
}

Zero::~Zero() = default;

void Zero::begin(std::int64_t i, std::int64_t of) {
  const at::NoGradGuard no_gradient;
  impl_->begin(i, of);
}

std::shared_ptr<Store> Zero::store() const { return impl_; }

void Zero::set_reducing(bool reducing) {
  RIESZ_CHECK(reducing || impl_->options.stage <= 1, "Zero: in stage ", impl_->options.stage,
              " a worker has its own gradients only in part; unreduced they are kept in stages 0 and 1");
  RIESZ_CHECK(reducing == impl_->reducing || !impl_->used,
              "Zero: whether gradients are reduced is said between steps, and one has begun; say it before a "
              "step's first use of the model, or after zero_gradients()");
  impl_->reducing = reducing;
}

Holdings Zero::holdings() const {
  Holdings all;
  std::int64_t most = 0;
  for (const Unit& unit : impl_->plan.units) {
    std::int64_t gathered = 0;
    for (const std::size_t b : unit.buckets) {
      const Bucket& bucket = *impl_->buckets[b];
      all.parameters += bucket.parameter_bytes();
      all.gradients += bucket.gradient_bytes();
      all.masters += bucket.master_bytes();
      all.passing += bucket.padding_bytes();
      (bucket.kept() ? all.passing : gathered) += bucket.gathered_bytes();
    }
    most = std::max(most, gathered);
  }
  all.gathered = (1 + impl_->options.prefetch) * most;
  all.passing += impl_->passing_bytes + all.gathered;
  return all;
}

std::string Zero::describe() const {
  std::ostringstream out;
  for (const Unit& unit : impl_->plan.units) {
    out << unit.name;
    for (const std::size_t b : unit.buckets) {
      const Bucket& bucket = *impl_->buckets[b];
      out << "  " << bucket.elements() << " elements on " << bucket.team().size() << " workers";
      for (const std::string& axis : bucket.plan().axes) out << " " << axis;
    }
    out << "\n";
  }
  return out.str();
}

}  // namespace riesz
