// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/stage_zeros.h"

#include <map>
#include <string>
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

}  // namespace

StageZeros::StageZeros(const Module& model, const ZeroOptions& options) {
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& [stage, parameters] : by_stage(model)) {
    if (model.stages() == nullptr)
      all_.emplace_back(parameters, options);
    else
      all_.emplace_back(parameters, model.stages()->spaces(stage).mesh(), options);
    stores.push_back(all_.back().store());
  }
  store_ = stores.size() == 1 ? stores.front() : several(stores);
}

void StageZeros::begin(std::int64_t i, std::int64_t of) {
  for (Zero& zero : all_) zero.begin(i, of);
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
    all.waiting += of.waiting;
  }
  return all;
}

}  // namespace riesz
