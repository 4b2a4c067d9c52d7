// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/module.h"

#include <set>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz {
namespace {

std::string joined(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "." + b;
}

void name_under(const std::string& path, Parameter& parameter) {
  const std::string own = parameter.name().substr(parameter.name().rfind('.') + 1);
  parameter.set_name(joined(path, own));
}

}  // namespace

Module::Module(std::string name) : name_(std::move(name)) {}

void Module::adopt_one(Module& child) {
  RIESZ_CHECK(child.owner_ == nullptr, "Module ", path(), ": its part ", child.name_,
              " has an owner already, ", child.path(), "; a module has one");
  child.owner_ = this;
  children_.push_back(&child);
}

void Module::adopt_one(const Parameter& parameter) { parameters_.push_back(parameter); }

std::string Module::path() const { return owner_ == nullptr ? name_ : joined(owner_->path(), name_); }

const Module& Module::root() const { return owner_ == nullptr ? *this : owner_->root(); }

const Module& Module::whole() const {
  const Module& top = root();
  RIESZ_CHECK(top.initialised_, "Module ", path(), " is in no initialised model: ",
              owner_ == nullptr ? "nothing has adopted it" : "the root above it was not initialised",
              ", so no seed, no step and no end of training reaches it; adopt(...) each part in its owner's "
              "constructor, and call initialise(seed, dtype) on the whole, or on this if it stands alone");
  return top;
}

LayerScope Module::layer_scope() const {
  return LayerScope([this] { return path(); });
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all;
  for (Parameter parameter : parameters_) {
    name_under(path(), parameter);
    all.push_back(parameter);
  }
  for (const Module* child : children_) {
    for (const Parameter& parameter : child->parameters()) all.push_back(parameter);
  }
  return all;
}

void Module::check_whole(const char* what) const {
  RIESZ_CHECK(owner_ == nullptr, "Module ", path(), " is a part of another: ", what,
              " is for all parts together; call it on the whole");
}

void Module::initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device) {
  check_whole("initialise");
  std::set<std::string> names;
  for (Parameter& parameter : parameters()) {
    RIESZ_CHECK(names.insert(parameter.name()).second, "Module ", path(), ": the name ", parameter.name(),
                " stands twice, so two parameters would have the same draws; name the parts differently");
    parameter.initialise(seed, dtype, device);
  }
  seed_ = seed;
  initialised_ = true;
}

void Module::set_training(bool training) {
  check_whole("set_training");
  training_ = training;
}

void Module::set_step(std::int64_t step) {
  check_whole("set_step");
  step_ = step;
}

std::string Module::tree() const {
  std::string text = joined(path(), "") + (path().empty() ? "" : ": ") + describe() + "\n";
  for (Parameter parameter : parameters_) {
    name_under(path(), parameter);
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
