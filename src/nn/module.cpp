// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/module.h"

#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

std::string joined(const std::string& a, const std::string& b) { return a.empty() || b.empty() ? a + b : a + "." + b; }

}  // namespace

Module::Module(std::string name) : name_(std::move(name)) {}

void Module::adopt_one(Module& child) {
  RIESZ_CHECK(child.owner_ == nullptr, "Module ", path(), ": its part ", child.name_, " has an owner already, ",
              child.path(), "; a module has one");
  child.owner_ = this;
  children_.push_back(&child);
}

void Module::adopt_one(const Parameter& parameter) { parameters_.push_back(parameter); }

std::string Module::path() const { return owner_ == nullptr ? name_ : joined(owner_->path(), name_); }

const Module& Module::root() const { return owner_ == nullptr ? *this : owner_->root(); }

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all;
  for (Parameter parameter : parameters_) {
    const std::string own = parameter.name().substr(parameter.name().rfind('.') + 1);
    parameter.set_name(joined(path(), own));
    all.push_back(parameter);
  }
  for (const Module* child : children_) {
    for (const Parameter& parameter : child->parameters()) all.push_back(parameter);
  }
  return all;
}

void Module::initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device) {
  seed_ = seed;
  for (Parameter& parameter : parameters()) parameter.initialise(seed, dtype, device);
}

void Module::set_training(bool training) { training_ = training; }
void Module::set_step(std::int64_t step) { step_ = step; }

std::string Module::tree() const {
  std::string text = joined(path(), "") + (path().empty() ? "" : ": ") + describe() + "\n";
  for (const Parameter& parameter : parameters_) {
    text += "  " + parameter.name() + " " + to_string(parameter.space()) + "\n";
  }
  for (const Module* child : children_) {
    std::string below = "  " + child->tree();
    for (std::size_t i = 0; i + 1 < below.size(); ++i) {
      if (below[i] == '\n') below.insert(i + 1, "  ");
    }
    text += below;
  }
  return text;
}

}  // namespace riesz
