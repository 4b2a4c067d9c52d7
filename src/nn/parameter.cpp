// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/parameter.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/random/random.h"
#include "riesz/nn/vectors/to_space.h"
#include "riesz/partition/intervals/global_intervals.h"
#include "riesz/primitives/backward.h"

namespace riesz {

namespace {

std::atomic<std::uint64_t> changes = 0;

/// As it is read where no gradient is to be summed: each worker has a copy of its own.
Space without_gradient(Space X) {
  for (const Axis& axis : X.partition().axes())
    if (X.placement(axis.name) == Placement::Replicated) X = X.copied(axis.name);
  return X;
}

}  // namespace

struct Parameter::Impl {
  /// Of a value that nothing has asked for.
  struct Undrawn {
    std::uint64_t key;
    at::ScalarType type;
    at::Device device;
  };

  std::string name;
  Space space;
  ParameterOptions options;
  at::Tensor local;
  std::optional<Undrawn> draws;  // while there is no local part yet
  std::optional<Space> use;      // with a keeper
  std::weak_ptr<ParameterKeeper> keeper;
  std::size_t key = 0;
  std::unique_ptr<std::mutex> drawing = std::make_unique<std::mutex>();
  std::shared_ptr<Impl> owner = nullptr;       // if it is lent
  std::optional<Vector> given = std::nullopt;  // what is used in place of its value

  void check_not_lent(const char* what) const {
    RIESZ_CHECK(owner == nullptr, "Parameter ", name, ": ", what, ", but it is lent, to be used in\n  ",
                to_string(space), "\nand its value is its owner's, in\n  ", to_string(owner->space),
                "\nask that (owner())");
  }

  void check_initialised() const {
    RIESZ_CHECK(
        local.defined() || draws, "Parameter ", name,
        " has no value yet; call the model's initialise(seed, dtype) first, which reaches all parts that "
        "were constructed with their owner");
  }

  /// Its local part, drawn if it is not yet, by whichever thread comes first.
  const at::Tensor& value() {
    const std::lock_guard lock(*drawing);
    check_initialised();
    if (local.defined()) return local;
    const c10::InferenceMode off(false);  // it is trained later
    const at::Tensor drawn = initial_value(options.initial, space, draws->key);
    local = drawn.to(draws->device, draws->type).requires_grad_(options.trained);
    draws.reset();
    return local;
  }

  /// What was not drawn yet need not be.
  void write(const at::Tensor& from) {
    if (draws)
      take(from.detach().to(draws->device, draws->type, false, true).contiguous());
    else
      local.copy_(from);
  }

  /// In the place of what was not drawn.
  void take(at::Tensor value) {
    local = std::move(value);
    local.requires_grad_(options.trained);
    draws.reset();
  }

  /// nullptr if it has none.
  std::shared_ptr<ParameterKeeper> living_keeper() const {
    if (!use) return nullptr;
    std::shared_ptr<ParameterKeeper> alive = keeper.lock();
    RIESZ_CHECK(alive != nullptr, "Parameter ", name,
                ": what kept its value (riesz::Zero) is gone; keep it as long as the model is used");
    return alive;
  }
};

Parameter::Parameter(std::string name, const Space& space, const ParameterOptions& options)
    : impl_(std::make_shared<Impl>(Impl{std::move(name), space, options, {}, {}, {}, {}})) {
  if (impl_->options.shape.empty()) impl_->options.shape = space.shape();
  std::int64_t elements = 1;
  for (const std::int64_t n : impl_->options.shape) elements *= n;
  RIESZ_CHECK(elements == space.numel(), "Parameter ", impl_->name, ": the published shape ",
              at::IntArrayRef(impl_->options.shape), " has ", elements, " elements, its space ",
              to_string(space), " has ", space.numel());
  RIESZ_CHECK(!options.type || !options.trained, "Parameter ", impl_->name,
              ": a type of its own is for buffers, but it is trained; set ParameterOptions::trained = false");
}

const std::string& Parameter::name() const { return impl_->name; }
const Space& Parameter::space() const { return impl_->space; }
const std::vector<std::int64_t>& Parameter::shape() const { return impl_->options.shape; }
bool Parameter::decays() const { return impl_->options.decays; }
std::int64_t Parameter::numel() const { return impl_->space.numel(); }

void Parameter::initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device) {
  impl_->check_not_lent("an initial value is to be drawn");
  RIESZ_CHECK(!has_keeper(), "Parameter ", name(),
              " is kept elsewhere already (riesz::Zero); initialise the model before");
  ++changes;
  impl_->local = at::Tensor();
  const at::ScalarType type = impl_->options.type.value_or(dtype);
  impl_->draws = Impl::Undrawn{philox_key(seed, impl_->name), type, device};
}

at::ScalarType Parameter::type() const {
  if (impl_->owner) return Parameter(impl_->owner).type();
  impl_->check_initialised();
  return impl_->draws ? impl_->draws->type : impl_->local.scalar_type();
}

at::Device Parameter::device() const {
  if (impl_->owner) return Parameter(impl_->owner).device();
  impl_->check_initialised();
  return impl_->draws ? impl_->draws->device : impl_->local.device();
}

void Parameter::copy_to(const at::Tensor& out, const Interval& part) const {
  const at::NoGradGuard no_gradient;
  impl_->check_not_lent("its elements are to be copied");
  impl_->check_initialised();
  if (!impl_->draws) {
    out.copy_(impl_->local.detach().reshape({-1}).narrow(0, part.begin, part.size()));
    return;
  }
  constexpr std::int64_t at_once = 1 << 16;  // what is drawn is fp64
  for (std::int64_t begin = part.begin; begin < part.end; begin += at_once) {
    const std::int64_t end = std::min(begin + at_once, part.end);
    const Intervals indices = global_intervals(space(), {begin, end});
    out.narrow(0, begin - part.begin, end - begin)
        .copy_(initial_value(impl_->options.initial, indices, impl_->draws->key));
  }
}

Parameter Parameter::lent(const Space& X) const {
  RIESZ_CHECK(X.shape() == space().shape(), "Parameter ", name(), " of\n  ", to_string(space()),
              "\ncannot be lent as a vector of\n  ", to_string(X), "\nwhich has another shape");
  Parameter lent(name(), X, impl_->options);
  lent.impl_->owner = impl_;
  return lent;
}

std::optional<Parameter> Parameter::owner() const {
  return impl_->owner ? std::optional<Parameter>(Parameter(impl_->owner)) : std::nullopt;
}

void Parameter::use_leaf(const std::optional<Vector>& leaf) {
  RIESZ_CHECK(!leaf || stays(), "Parameter ", name(),
              " is kept elsewhere (riesz::Zero), which says where its value lies; it takes no other leaf");
  RIESZ_CHECK(
      !leaf || leaf->space() == used_in() || (!has_keeper() && leaf->space() == without_gradient(space())),
      "Parameter ", name(), " is used as a vector of\n  ", to_string(used_in()), "\nand takes no leaf of\n  ",
      to_string(leaf->space()));
  impl_->given = leaf;
}

std::shared_ptr<ParameterKeeper> Parameter::keeper() const { return impl_->living_keeper(); }

bool Parameter::stays() const {
  const auto keeper = impl_->living_keeper();
  return keeper == nullptr || keeper->stays();
}

Space Parameter::used_in() const {
  if (impl_->use) return *impl_->use;
  return trained() ? impl_->space : without_gradient(impl_->space);
}

void Parameter::expect_gradient() const {
  if (const auto keeper = impl_->living_keeper()) keeper->gradient_to_come(impl_->key);
}

void Parameter::leave_gradient(const at::Tensor& local) const {
  impl_->check_not_lent("a gradient is left");
  at::Tensor& gradient = impl_->value().mutable_grad();  // of a leaf whose values may be elsewhere
  if (local.defined()) gradient = gradient.defined() ? gradient.add(local) : local;
  if (const auto keeper = impl_->living_keeper()) keeper->gradient_left(impl_->key);
}

Vector Parameter::value() const {
  if (impl_->given) return *impl_->given;
  if (impl_->owner) return to_space(Parameter(impl_->owner).value(), impl_->space);
  if (const auto keeper = impl_->living_keeper()) {
    keeper->use(impl_->key);
    return {*impl_->use, impl_->local};
  }
  return {used_in(), leaf(), !trained()};
}

Vector Parameter::gradient() const {
  if (impl_->given && trained()) return riesz::gradient(*impl_->given);
  impl_->check_not_lent("its gradient is asked for");
  if (const auto keeper = impl_->living_keeper()) return {dual(impl_->space), keeper->gradient(impl_->key)};
  const Vector leaf = value();
  return trained() ? riesz::gradient(leaf) : Vector(dual(leaf.space()), at::zeros_like(leaf.local()));
}

void Parameter::give_to(const std::shared_ptr<ParameterKeeper>& keeper, std::size_t key, const Space& use,
                        at::Tensor leaf) {
  impl_->check_not_lent("a keeper is to take it over");
  RIESZ_CHECK(!has_keeper(), "Parameter ", name(),
              " is kept by another already (riesz::Zero); one is enough");
  impl_->check_initialised();
  RIESZ_CHECK(leaf.sizes() == at::IntArrayRef(space().local_shape()), "Parameter ", name(),
              ": its keeper's part has the shape ", leaf.sizes(), ", its own is of\n  ", to_string(space()));
  impl_->use = use;
  impl_->keeper = keeper;
  impl_->key = key;
  impl_->local = std::move(leaf);
  impl_->draws.reset();
}

bool Parameter::has_keeper() const { return impl_->use.has_value(); }

at::Tensor Parameter::leaf() const {
  impl_->check_not_lent("its leaf is asked for");
  impl_->check_initialised();
  const auto keeper = impl_->living_keeper();
  RIESZ_CHECK(
      !keeper || keeper->is_here(impl_->key), "Parameter ", impl_->name,
      ": what keeps its value (riesz::Zero) does not have it here now, so there is nothing to read or "
      "to write at its leaf; ask for value(), which gathers it");
  return impl_->value();
}

void Parameter::set(const Vector& value) {
  impl_->check_not_lent("a value is to be set");
  RIESZ_CHECK(value.space() == space(), "Parameter ", name(), " lies in\n  ", to_string(space()),
              "\nand takes no value of\n  ", to_string(value.space()), "\n",
              conversion_hint(value.space(), space()));
  RIESZ_CHECK(impl_->local.defined() || impl_->draws, "Parameter ", name(),
              " has no value yet, and so no type; call the model's initialise(seed, dtype) first");
  const at::NoGradGuard no_gradient;
  if (const auto keeper = impl_->living_keeper())
    keeper->set(impl_->key, value.local());
  else
    impl_->write(value.local());
}

void Parameter::set(const at::Tensor& global) {
  const bool fits =
      global.sizes() == at::IntArrayRef(shape()) || global.sizes() == at::IntArrayRef(space().shape());
  RIESZ_CHECK(fits, "Parameter ", name(), " is published in the shape ", at::IntArrayRef(shape()),
              ", and takes no value of the shape ", global.sizes());
  set(distribute(space(), global.reshape(space().shape())));
}

void Parameter::fill(const std::function<void(const at::Tensor& part)>& write) {
  impl_->check_not_lent("a value is to be set");
  impl_->check_initialised();
  const at::NoGradGuard no_gradient;
  const auto keeper = impl_->living_keeper();
  if (!keeper && impl_->local.defined() && impl_->local.is_contiguous()) {
    impl_->local.unsafeGetTensorImpl()->bump_version();  // who writes by an address does not
    write(impl_->local.detach().view({-1}));
    return;
  }
  const c10::InferenceMode off(false);  // it is trained later
  const at::Tensor local = at::empty(space().local_shape(), at::TensorOptions(type()).device(device()));
  write(local.view({-1}));
  if (keeper)
    keeper->set(impl_->key, local);
  else if (impl_->draws)
    impl_->take(local);
  else
    impl_->local.copy_(local);
}

Vector Parameter::get() const {
  const at::NoGradGuard no_gradient;
  return {impl_->space, value().local().detach().clone()};
}

bool Parameter::trained() const {
  return impl_->owner ? impl_->owner->options.trained : impl_->options.trained;
}

void Parameter::freeze() {
  impl_->check_not_lent("it is to be frozen");
  RIESZ_CHECK(!has_keeper(), "Parameter ", name(),
              " is kept elsewhere already (riesz::Zero), which sums its gradient; freeze it before");
  ++changes;
  impl_->options.trained = false;
  if (impl_->local.defined()) impl_->local = impl_->local.detach();
}

void Parameter::zero_gradient() {
  if (impl_->local.defined()) impl_->local.mutable_grad().reset();
}

std::uint64_t detail::parameter_changes() { return changes; }

}  // namespace riesz
