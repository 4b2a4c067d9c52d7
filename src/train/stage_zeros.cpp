// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/stage_zeros.h"

#include <map>
#include <vector>

#include "riesz/nn/stages/stages.h"

namespace riesz {
namespace {

std::map<int, std::vector<Parameter>> by_stage(const Module& model) {
  const Stages* stages = model.stages();
  std::map<int, std::vector<Parameter>> all;
  for (const Parameter& parameter : model.parameters())
    all[stages == nullptr ? 0 : stages->named(parameter.name()).value_or(0)].push_back(parameter);
  return all;
}

}  // namespace

StageZeros::StageZeros(const Module& model, const ZeroOptions& options) {
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& [stage, parameters] : by_stage(model)) {
    all_.emplace_back(parameters, options);
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
  }
  return all;
}

}  // namespace riesz
