// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/optimizer.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/where.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <set>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/optim/finite.h"
#include "riesz/optim/throw_on_all.h"

namespace riesz {
namespace {

void check_group(const std::string& name, const Setting& general, const Group& group) {
  RIESZ_CHECK(group.has, name, ": a group that does not say which parameters it has");
  check_not_negative(name, "a group's learning_rate_scale", group.learning_rate_scale);
  if (group.weight_decay) check_not_negative(name, "a group's weight_decay", *group.weight_decay);
  RIESZ_CHECK(general.momentum || !group.momentum, name, " has no momentum, which a group sets");
  RIESZ_CHECK(general.beta2 || !group.beta2, name, " has no beta2, which a group sets");
  if (group.momentum) check_fraction(name, "a group's momentum", *group.momentum);
  if (group.beta2) check_fraction(name, "a group's beta2", *group.beta2);
}

/// LibTorch's error of this call, as of a memory that is full, also says what was computed.
template <typename Call, typename Said>
void said_of_it(const Call& call, const Said& said) {
  try {
    call();
  } catch (c10::Error& error) {
    error.add_context(said());
    throw;
  }
}

/// Leaves of a share, whose elements lie at `all` in its buffer, those that a window has.
void cut_to(Share& share, const Interval& all, const Interval& window) {
  const Interval cut = intersect(all, window);
  const std::int64_t begin = cut.begin - all.begin;
  share.begin += begin;
  share.value = share.value.narrow(0, begin, cut.size());
  share.gradient = share.gradient.narrow(0, begin, cut.size());
}

bool is_half(at::ScalarType type) { return accumulation_type(type) != type; }

/// In which a share is trained: of a half value, that of its master.
at::ScalarType trained_type(const Share& share) { return accumulation_type(share.value.scalar_type()); }

std::string names_of(const std::vector<Share>& shares, const StorePart& part) {
  if (part.first == part.last) return "";
  const std::string &first = shares[part.first].parameter.name(),
                    &last = shares[part.last - 1].parameter.name();
  return first == last ? " of " + first : concat(" of ", first, " to ", last);
}

}  // namespace

Optimizer::Optimizer(std::string name, std::shared_ptr<Store> store, const Setting& general,
                     std::vector<Group> groups, LooksAt looks_at)
    : name_(std::move(name)), store_(std::move(store)), general_(general), groups_(std::move(groups)) {
  std::vector<Share> shares;
  said_of_it([&] { shares = store_->shares(); }, [&] { return name_ + ": gradients"; });
  extents_ = riesz::extents(shares);
  parts_ = parts_of(shares, store_->parts());
  steps_of_.assign(extents_.size(), 0);
  written_ = std::make_shared<const Written>(Written{[this] { loaded(); }, [this] { in_part_ = true; }});
  check_not_negative(name_, "learning_rate", general_.learning_rate);
  check_not_negative(name_, "weight_decay", general_.weight_decay);
  for (const Group& group : groups_) check_group(name_, general_, group);
  const std::shared_ptr<StatePlace>& place = store_->state_place();
  if (!place) {
    store_->keep_masters_in({});
    return;
  }
  RIESZ_CHECK(
      looks_at == LooksAt::elements, name_, ": its state cannot lie on ", place->describe(),
      ", because an update looks at whole parameters, and a few elements are in memory at a time; take "
      "SGD, Adam or AdamW, or leave the state in memory (Store::keep_state_in)");
  in_place_ = true;
  if (store_->lies_there() == LiesThere::state_and_masters)
    for (Extent& share : extents_) share.half = is_half(share.parameter.type());
  agrees_ = !place->is_host_memory();
  windows_ = windows_of(extents_, place->page_bytes());
  elements_ = places_of_elements(extents_);
  keep_masters();
}

/// The place of so many windows, which must be there on all workers.
std::shared_ptr<PerElement> Optimizer::room_for(const std::string& key, PerElement::Of of) {
  std::string failed;
  try {
    paged_.push_back(std::make_shared<PerElement>(key, extents_, windows_, *store_->state_place(),
                                                  concat(name_, ": ", key), of));
  } catch (const std::exception& error) {
    failed = error.what();
  }
  agree(failed);
  return paged_.back();
}

/// All of the store's workers have the same list of shares.
void Optimizer::agree(const std::string& failed) const {
  if (agrees_ && !extents_.empty()) throw_on_all(store_->partition(), failed);
  if (!failed.empty()) throw Error(failed);
}

void Optimizer::keep_masters() {
  if (store_->lies_there() == LiesThere::state) return store_->keep_masters_in({});
  masters_ = room_for("master", PerElement::Of::halves);
  std::vector<std::shared_ptr<const StateElsewhere>> places;
  for (std::size_t i = 0; i < extents_.size(); ++i)
    places.push_back(masters_->has(i) ? masters_->elsewhere(i) : nullptr);
  std::string failed;
  try {
    store_->keep_masters_in(std::move(places));
  } catch (const std::exception& error) {
    failed = error.what();
  }
  agree(failed);
}

void Optimizer::set_learning_rate(double learning_rate) {
  check_not_negative(name_, "learning_rate", learning_rate);
  general_.learning_rate = learning_rate;
}

void Optimizer::set_momentum(double momentum) {
  RIESZ_CHECK(general_.momentum, name_, " has no momentum to set");
  check_fraction(name_, "momentum", momentum);
  general_.momentum = momentum;
}

const PerElement& Optimizer::keep(const std::string& key, const Which& has) {
  const auto what = [&] { return concat(name_, ": ", key); };
  said_of_it(
      [&] {
        kept_.push_back(in_place_ ? room_for(key, PerElement::Of::all)
                                  : std::make_shared<PerElement>(key, extents_, has));
      },
      what);
  return *kept_.back();
}

void Optimizer::check_same(const std::vector<Share>& shares) const {
  RIESZ_CHECK(shares.size() == extents_.size(), name_, ": the store has ", shares.size(), " shares, and had ",
              extents_.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const Share& now = shares[i];
    const Extent& then = extents_[i];
    RIESZ_CHECK(now.parameter == then.parameter && now.begin == then.begin &&
                    now.value.numel() == then.size && trained_type(now) == then.options.dtype(),
                name_, ": share ", i, " was ", then.size, " elements of ", then.parameter.name(), " from ",
                then.begin, ", of type ", then.options.dtype(), ", and is ", now.value.numel(), " of ",
                now.parameter.name(), " from ", now.begin, ", of type ", trained_type(now));
    RIESZ_CHECK(now.gradient.sizes() == now.value.sizes() && now.gradient.dtype() == trained_type(now), name_,
                ": the gradient of ", now.parameter.name(), " is ", now.gradient.sizes(), " of type ",
                now.gradient.dtype(), ", its value ", now.value.sizes(), " of type ", now.value.dtype());
  }
}

void Optimizer::check_reduced() const {
  const bool wanted = wants_reduced_gradients();
  RIESZ_CHECK(store_->reduced() == wanted, name_, ": step ", steps_ + 1, " takes ",
              wanted ? "gradients summed over the workers, and they are each worker's own terms"
                     : "each worker's own terms of the gradients, and they are reduced to the sum",
              "; say Zero::set_reducing(optimizer.wants_reduced_gradients()) before each step's backward");
}

void Optimizer::check_loaded() const {
  RIESZ_CHECK(!in_part_, name_, ": step ", steps_ + 1,
              ": its state was loaded from a checkpoint in which some of it is missing or "
              "misshapen (LoadOptions::strict = false); call loaded() to go on with what was there");
}

void Optimizer::step() {
  const at::NoGradGuard no_gradient;
  const at::Tensor only_if = store_->take_only_if();  // of this call, also where it throws
  know_last_step();
  settle_late_checks(checks_);
  check_loaded();
  check_reduced();
  std::vector<Share> shares = store_->shares();
  check_same(shares);
  std::size_t window = 0;
  const auto step = [this, number = steps_ + 1] { return concat(name_, ": step ", number); };
  const StorePart* part = nullptr;
  std::string failed;  // why the place could not do its part
  const auto make = [&] {
    finite_ = check_finite(step, *store_, shares, store_->take_goes_on(only_if));
    if (finite_.defined()) found_inf_ = finite_.logical_not().to(at::kFloat);
    ++steps_;
    std::fill(steps_of_.begin(), steps_of_.end(), steps_);
    prepare(shares);
    for (const StorePart& each : parts_) {
      part = &each;
      update_part(shares, each, window, failed);
      store_->spread(each.number);
    }
    part = nullptr;
    if (in_place_) agree(failed);
  };
  said_of_it(make, [&] { return step() + (part != nullptr ? names_of(shares, *part) : ""); });
  if (finite_.defined()) made_.emplace(finite_);
  finite_.reset();
  found_inf_.reset();
  checks_ = late_checks_so_far();
}

/// Where a page fails, the worker goes on with what all do together, and the step ends with an error on all.
void Optimizer::update_part(std::vector<Share>& shares, const StorePart& part, std::size_t& window,
                            std::string& failed) {
  if (!in_place_) return update(shares, part);
  if (!failed.empty()) return;
  try {
    update_windows(shares, part, window);
  } catch (const std::exception& error) {
    failed = error.what();
  }
}

/// Those of a part, from number `window` on. The windows behind the last one are those of the next step. The
/// state stays where it was made, also if the store has another place since, or none. Then only how far to
/// read ahead is the new one's.
void Optimizer::update_windows(std::vector<Share>& shares, const StorePart& part, std::size_t& window) {
  const std::shared_ptr<StatePlace>& place = store_->state_place();
  const std::size_t depth = place ? place->depth() : 0;
  for (; window < windows_.size() && windows_[window].shares.number == part.number; ++window) {
    for (std::size_t ahead = 0; ahead <= depth; ++ahead)
      for (const auto& paged : paged_) paged->expect((window + ahead) % windows_.size());
    for (const auto& paged : paged_) paged->bring(window);
    update_window(shares, windows_[window]);
    for (const auto& paged : paged_) paged->let_go(true);
  }
}

/// With what is here of it. Masters that are stand for their half values, which they are cast to.
void Optimizer::update_window(std::vector<Share>& shares, const StateWindow& here) {
  const auto first = shares.begin() + static_cast<std::ptrdiff_t>(here.shares.first);
  const std::vector<Share> whole(first, shares.begin() + static_cast<std::ptrdiff_t>(here.shares.last));
  std::vector<at::Tensor> halves;
  for (std::size_t i = here.shares.first; i < here.shares.last; ++i) {
    cut_to(shares[i], elements_[i].elements, here.elements);
    if (!masters_ || !masters_->has(i)) continue;
    halves.push_back(shares[i].value);
    shares[i].value = masters_->of(i);
  }
  update(shares, here.shares);
  for (std::size_t k = 0; k < halves.size(); ++k) halves[k].copy_(shares[here.shares.first + k].value);
  std::copy(whole.begin(), whole.end(), first);
}

/// A device says it one step late, when it has long computed it.
void Optimizer::know_last_step() const {
  if (!made_) return;
  if (!host_value(std::exchange(made_, std::nullopt)->wait(), true)) --steps_;
  std::fill(steps_of_.begin(), steps_of_.end(), steps_);
}

std::int64_t Optimizer::steps() const {
  know_last_step();
  return steps_;
}

void Optimizer::write(const at::Tensor& x, const at::Tensor& next) const {
  at::Tensor out = x;
  at::where_out(out, finite_, next, x);
}

State Optimizer::kept() const {
  State result;
  for (const auto& kept : kept_) {
    for (std::size_t i = 0; i < extents_.size(); ++i) {
      if (!kept->has(i)) continue;
      const Extent& share = extents_[i];
      result.push_back({share.parameter.name(),
                        kept->key(),
                        share.parameter.space(),
                        {share.begin, share.begin + share.size},
                        share.counted,
                        {}});
      kept->put_into(result.back(), i);
    }
  }
  for (StateView& view : more_kept()) result.push_back(std::move(view));
  return result;
}

void Optimizer::check_names() const {
  std::set<std::string> names;
  for (const Extent& share : extents_)
    RIESZ_CHECK(
        share.copy_of || names.insert(share.parameter.name()).second, name_,
        ": two of its parameters are called ", share.parameter.name(),
        ", and a saved state tells them apart by their names alone; give the models' roots two names, "
        "each model an optimizer of its own, or name copies of one weight as tied (riesz::several)");
}

State Optimizer::state() {
  const at::NoGradGuard no_gradient;
  check_names();
  know_last_step();
  State result = store_->state();
  for (StateView& view : kept()) result.push_back(std::move(view));
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    result.push_back(view_of(extents_[i].parameter.name(), "steps", store_->partition(), steps_of_[i]));
    result.back().counted = result.back().counted && !extents_[i].copy_of;
  }
  for (StateView& view : result) view.written = written_;
  return result;
}

void Optimizer::loaded() {
  const at::NoGradGuard no_gradient;
  made_.reset();
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    RIESZ_CHECK(steps_of_[i] == steps_of_[0], name_, ": what was loaded has gone ", steps_of_[0],
                " steps with ", extents_[0].parameter.name(), " and ", steps_of_[i], " with ",
                extents_[i].parameter.name(),
                "; an optimizer goes as many with all of its parameters, so give each number's parameters to "
                "an optimizer of their own");
  }
  if (!steps_of_.empty()) steps_ = steps_of_[0];
  in_part_ = false;
  store_->updated();
}

std::int64_t Optimizer::bytes() const {
  std::int64_t sum = derived_bytes();
  for (const auto& kept : kept_) sum += kept->bytes();
  if (masters_) sum += masters_->bytes();
  for (const StateView& view : more_kept()) sum += static_cast<std::int64_t>(view.tensor.nbytes());
  return sum;
}

std::int64_t Optimizer::bytes_elsewhere() const {
  std::int64_t sum = 0;
  for (const auto& paged : paged_) sum += paged->bytes_elsewhere();
  return sum;
}

void check_fraction(const std::string& optimizer, const char* option, double value) {
  RIESZ_CHECK(value >= 0 && value < 1, optimizer, ": ", option, " is ", value,
              "; it must be at least 0 and below 1");
}

void check_not_negative(const std::string& optimizer, const char* option, double value) {
  RIESZ_CHECK(value >= 0, optimizer, ": ", option, " is ", value, "; it must be at least 0");
}

void check_positive(const std::string& optimizer, const char* option, double value) {
  RIESZ_CHECK(value > 0, optimizer, ": ", option, " is ", value, "; it must be above 0");
}

}  // namespace riesz
