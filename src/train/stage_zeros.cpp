// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/stage_zeros.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
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
  std::set<std::string> lent;
  for (const LentParameter& each : model.lent()) lent.insert(each.owner.name());
  const auto lends = [&](const Parameter& parameter) { return lent.contains(parameter.name()); };
  std::vector<std::shared_ptr<Store>> stores;
  for (const auto& [stage, parameters] : by_stage(model)) {
    all_.emplace_back(parameters, options, std::any_of(parameters.begin(), parameters.end(), lends));
    stores.push_back(all_.back().zero.store());
  }
  store_ = stores.size() == 1 ? stores.front() : several(stores);
}

void StageZeros::begin(std::int64_t i, std::int64_t of, std::int64_t at_once) {
  for (One& one : all_) {
    const std::int64_t more = one.lends && at_once > 0 ? of / at_once : 0;
    if (more > 0 && i % at_once == 0) one.zero.begin(of + i / at_once, of + more);
    one.zero.begin(i, of + more);
  }
}

void StageZeros::set_reducing(bool reducing) {
  for (One& one : all_) one.zero.set_reducing(reducing);
}

Holdings StageZeros::holdings() const {
  Holdings all;
  for (const One& one : all_) {
    const Holdings of = one.zero.holdings();
    all.parameters += of.parameters;
    all.gradients += of.gradients;
    all.masters += of.masters;
    all.passing += of.passing;
    all.gathered += of.gathered;
  }
  return all;
}

}  // namespace riesz
