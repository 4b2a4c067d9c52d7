// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/stage_zeros.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "riesz/nn/stages/stages.h"

namespace riesz {
namespace {

int stage_of(const Stages* stages, const std::string& path) {
  return stages == nullptr ? 0 : stages->named(path).value_or(0);
}

/// Of each stage, also of one that has none.
std::map<int, std::vector<Parameter>> by_stage(const Module& model) {
  std::map<int, std::vector<Parameter>> all;
  for (int stage = 0; model.stages() != nullptr && stage < model.stages()->size(); ++stage) all[stage] = {};
  if (model.stages() == nullptr) all[0] = {};
  for (const Parameter& parameter : model.parameters())
    all[stage_of(model.stages(), parameter.name())].push_back(parameter);
  return all;
}

/// How many times a micro-batch comes to each stage: the modules in their order are one visit as long as they
/// are of one stage.
void add_visits(const Module& module, const Stages* stages, int& last, std::map<int, std::int64_t>& visits) {
  const int here = stage_of(stages, module.path());
  if (module.parts().empty() && std::exchange(last, here) != here) ++visits[here];
  for (const Module* part : module.parts()) add_visits(*part, stages, last, visits);
}

/// For each stage, the other stages on the same workers whose modules use its parameters. (To a stage on
/// other workers a parameter is lent, and what comes back is no pass.)
void add_users(const Module& module, const Stages* stages, std::map<int, std::set<int>>& users) {
  const int here = stage_of(stages, module.path());
  for (const Parameter& parameter : module.used_of_others()) {
    const int there = stage_of(stages, parameter.name());
    if (stages != nullptr && here != there && stages->spaces(here).mesh() == stages->spaces(there).mesh())
      users[there].insert(here);
  }
  for (const Module* part : module.parts()) add_users(*part, stages, users);
}

}  // namespace

StageZeros::StageZeros(const Module& model, const ZeroOptions& options) {
  std::map<int, std::set<int>> users;
  add_users(model, model.stages(), users);
  std::map<int, std::int64_t> visits;
  int last = -1;
  add_visits(model, model.stages(), last, visits);
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& [stage, parameters] : by_stage(model)) {
    if (model.stages() == nullptr)
      all_.emplace_back(parameters, options);
    else
      all_.emplace_back(parameters, model.stages()->spaces(stage).mesh(), options);
    stores.push_back(all_.back().store());
    passes_.push_back(std::max<std::int64_t>(visits[stage], 1));
    for (const int user : users[stage]) passes_.back() += visits[user];
  }
  store_ = stores.size() == 1 ? stores.front() : several(stores);
}

void StageZeros::begin(std::int64_t i, std::int64_t of) {
  for (std::size_t k = 0; k < all_.size(); ++k) {
    for (std::int64_t pass = i * passes_[k]; pass < (i + 1) * passes_[k]; ++pass)
      all_[k].begin(pass, of * passes_[k]);
  }
}

void StageZeros::set_reducing(bool reducing) {
  for (Zero& zero : all_) zero.set_reducing(reducing);
}

Holdings StageZeros::holdings() const {
  Holdings all;
  for (const Zero& zero : all_) {
    const Holdings of = zero.holdings();
    all.parameters += of.parameters;
    all.gradients += of.gradients;
    all.masters += of.masters;
    all.passing += of.passing;
    all.gathered += of.gathered;
  }
  return all;
}

}  // namespace riesz
