// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/parameter.h"

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/philox.h"
#include "riesz/primitives/backward.h"

namespace riesz {

struct Parameter::Impl {
  std::string name;
  Space space;
  ParameterOptions options;
  at::Tensor local;
};

Parameter::Parameter(std::string name, const Space& space, const ParameterOptions& options)
    : impl_(std::make_shared<Impl>(Impl{std::move(name), space, options, {}})) {
  if (impl_->options.shape.empty()) impl_->options.shape = space.shape();
  std::int64_t elements = 1;
  for (const std::int64_t n : impl_->options.shape) elements *= n;
  RIESZ_CHECK(elements == space.numel(), "Parameter ", impl_->name, ": the published shape ",
              at::IntArrayRef(impl_->options.shape), " has ", elements, " elements, its space ",
              to_string(space), " has ", space.numel());
}

const std::string& Parameter::name() const { return impl_->name; }
void Parameter::set_name(std::string name) { impl_->name = std::move(name); }
const Space& Parameter::space() const { return impl_->space; }
const std::vector<std::int64_t>& Parameter::shape() const { return impl_->options.shape; }
bool Parameter::decays() const { return impl_->options.decays; }
std::int64_t Parameter::numel() const { return impl_->space.numel(); }

void Parameter::initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device) {
  const at::Tensor value = initial_value(impl_->options.initial, impl_->space, philox_key(seed, impl_->name));
  impl_->local = value.to(device, dtype).requires_grad_();
}

Vector Parameter::value() const {
  RIESZ_CHECK(impl_->local.defined(), "Parameter ", impl_->name,
              " has no value yet; call the model's initialise(seed, dtype) first");
  return {impl_->space, impl_->local};
}

Vector Parameter::gradient() const { return riesz::gradient(value()); }

void Parameter::zero_gradient() { impl_->local.mutable_grad().reset(); }

}  // namespace riesz
