// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/module.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <set>

#include "riesz/comm/error.h"
#include "riesz/nn/stages/stages.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

std::string dotted(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() ? a + b : a + "." + b;
}

}  // namespace

Module::Module(OwnerAndName place) : owner_(place.owner), name_(std::move(place.name)) {
  origin_ = std::make_shared<const Origin>(
      Origin{owner_ == nullptr ? name_ : dotted(owner_->path(), name_), Phase::forward});
  if (owner_ == nullptr) return;
  owner_->children_.push_back(this);
  spaces_ = owner_->spaces_;
  stages_ = owner_->stages_;
  stage_ = owner_->stage_;
  take_stage();
}

Module::Module(OwnerAndName place, const ModelSpaces& spaces) : Module(std::move(place)) {
  spaces_ = std::make_shared<const ModelSpaces>(spaces);
  if (spaces.stages() == nullptr) return;
  stages_ = spaces.stages();
  stage_ = stages_->named("").value_or(0);
  take_stage();
}

void Module::take_stage() {
  if (stages_ == nullptr) return;
  const std::optional<int> named = stages_->named(path(), owner_ == nullptr ? "" : owner_->path());
  if (named && (*named != stage_ || owner_ == nullptr)) {
    stage_ = *named;
    spaces_ = {stages_, &stages_->spaces(stage_)};
  }
  spans_ = stages_->spans(path(), stage_);
  known_ranges_.reset();
  if (!spans_ && !spaces_->mesh().active()) known_ranges_ = std::make_unique<detail::KnownRanges>();
}

Module::~Module() {
  if (owner_ != nullptr) std::erase(owner_->children_, this);
}

const ModelSpaces& Module::spaces() const {
  RIESZ_CHECK(
      spaces_ != nullptr, "Module ", path(),
      " takes its spaces from letters, but no owner has a layout; build it under a model that has one "
      "(Layer(\"\", ModelSpaces(layout, roles))), or give the spaces themselves");
  return *spaces_;
}

const ModelSpaces& Module::spaces_of(const std::string& part) const {
  if (stages_ == nullptr) return spaces();
  const std::optional<int> named = stages_->named(dotted(path(), part), path());
  return named && *named != stage_ ? stages_->spaces(*named) : spaces();
}

std::optional<int> Module::stage() const {
  return stages_ == nullptr ? std::nullopt : std::optional<int>(stage_);
}

void Module::name_parts(std::vector<std::string>& of_stages) const {
  for (const Module* child : children_)
    if (spans_) child->name_parts(of_stages);
  if (spans_) return;
  std::string& text = of_stages[static_cast<std::size_t>(stage_)];
  text += (text.empty() ? "" : ", ") + (path().empty() ? "the model" : path());
}

std::string Module::placement() const {
  std::string text;
  if (stages_ == nullptr) return text;
  std::vector<std::string> parts(static_cast<std::size_t>(stages_->size()));
  name_parts(parts);
  for (int stage = 0; stage < stages_->size(); ++stage) {
    const Partition& mesh = stages_->spaces(stage).mesh();
    text += concat("stage ", stage, " on ", to_string(mesh), ", ranks");
    for (const int worker : mesh.workers()) text += concat(" ", worker);
    text += ": " + parts[static_cast<std::size_t>(stage)] + "\n";
  }
  return text;
}

std::vector<std::string> Module::paths() const {
  std::vector<std::string> all{path()};
  for (const Module* child : children_)
    for (std::string& below : child->paths()) all.push_back(std::move(below));
  return all;
}

Space Module::target(const Vector& x, bool first) const {
  const Space& X = x.space();
  const std::optional<Space> domain = first ? first_domain() : std::nullopt;
  bool fits = domain && X.dims() == domain->dims();
  for (std::size_t dim = 0; fits && dim < X.shape().size(); ++dim)
    fits = domain->shape()[dim] == Space::any || domain->shape()[dim] == X.shape()[dim];
  return fits ? domain->with_shape(X.shape()) : X.on(spaces().mesh());
}

const std::optional<Space>& Module::first_domain() const {
  return domain_ || children_.empty() ? domain_ : children_.front()->first_domain();
}

void Module::enter(const std::vector<Vector*>& arguments, const Vector* first) const {
  std::vector<Space> targets;
  targets.reserve(arguments.size());
  for (const Vector* x : arguments) targets.push_back(target(*x, x == first));
  if (Crossing* crossing = Crossing::current())
    return crossing->enter(stage_, spaces().mesh(), arguments, targets);
  if (Chain* chain = Chain::current(); chain != nullptr && at::GradMode::is_enabled())
    chain->reaches(stages_->workers());
  bring(arguments, targets);
}

Parameter Module::parameter(const std::string& name, const Space& space, const ParameterOptions& options) {
  parameters_.emplace_back(dotted(path(), name), space, options);
  return parameters_.back();
}

Parameter Module::lent_parameter(const Parameter& owner, const Space& W) {
  const Parameter first = owner.owner().value_or(owner);
  used_of_others_.push_back(first);
  if (stages_ == nullptr || owner.space().partition() == W.partition()) return owner;
  const bool fits = owner.space().shape() == W.shape();
  lent_.push_back({first.lent(fits ? W : owner.space().on(W.partition())), first, stage_});
  return lent_.back().here;
}

void Module::check_domain(const Vector& x) const {
  if (!domain_ || matches(x.space(), *domain_)) return;
  const std::string line = describe();
  throw_error(concat(line.substr(0, line.find(' ')), " ", path(), " takes vectors of\n  ",
                     to_string(*domain_), "\nnot of\n  ", to_string(x.space()), "\n",
                     conversion_hint(x.space(), *domain_)));
}

std::vector<Parameter> Module::parameters() const {
  std::vector<Parameter> all = parameters_;
  for (const Module* child : children_) {
    for (const Parameter& parameter : child->parameters()) all.push_back(parameter);
  }
  return all;
}

std::vector<LentParameter> Module::lent() const {
  std::vector<LentParameter> all = lent_;
  for (const Module* child : children_)
    for (const LentParameter& parameter : child->lent()) all.push_back(parameter);
  return all;
}

void Module::check_draws(std::map<std::string, std::string>& by_path, const std::string& place) const {
  if (draws()) {
    const std::string mine = describe() + (place.empty() ? "" : ", " + place);
    const auto [other, is_new] = by_path.emplace(path(), mine);
    RIESZ_CHECK(is_new, "Module: two parts have the path \"", path(), "\", ", other->second, ", and ", mine,
                ", so both would draw the same random numbers, such as drop alike; give one of them, or its "
                "owner, another name");
  }
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const std::string here = concat("part ", i, " of ", path().empty() ? "the model" : path());
    children_[i]->check_draws(by_path, place.empty() ? here : here + ", " + place);
  }
}

void Module::initialise(std::uint64_t seed, at::ScalarType dtype, at::Device device) {
  if (owner_ == nullptr) check_placed(*this);
  std::map<std::string, std::string> by_path;
  check_draws(by_path, "");
  std::set<std::string> names;
  for (Parameter& parameter : parameters()) {
    RIESZ_CHECK(names.insert(parameter.name()).second, "Module ", path(), ": the name ", parameter.name(),
                " stands twice, so two parameters would have the same draws; name the parts differently");
    parameter.initialise(seed, dtype, device);
  }
}

void Module::freeze() {
  for (Parameter& parameter : parameters()) parameter.freeze();
}

std::string Module::tree() const {
  std::string text = path() + (path().empty() ? "" : ": ") + describe();
  if (stages_ != nullptr && !spans_ && (owner_ == nullptr || owner_->spans_))
    text += concat(", stage ", stage_);
  if (domain_) text += " from " + to_string(*domain_);
  if (range_) text += " to " + to_string(*range_);
  text += "\n";
  for (const Parameter& parameter : parameters_)
    text += concat("  ", parameter.name(), " ", to_string(parameter.space()),
                   parameter.trained() ? "" : ", frozen", "\n");
  for (const LentParameter& parameter : lent_)
    text += concat("  ", parameter.here.name(), " ", to_string(parameter.here.space()), ", lent\n");
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
