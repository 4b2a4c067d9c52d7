// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/run/run_keepers.h"

#include <algorithm>
#include <atomic>

#include "riesz/nn/stages/stages.h"

namespace riesz {
namespace {

std::uint64_t next_run() {
  static std::atomic<std::uint64_t> last(0);
  return ++last;
}

int chunk_of(const Stages& stages, const Parameter& parameter) {
  return stages.named(parameter.name()).value_or(0);
}

}  // namespace

RunKeepers::RunKeepers(const Module& model) : run_(next_run()) {
  for (const Parameter& parameter : model.parameters()) add(chunk_of(*model.stages(), parameter), parameter);
  add_used(model);
}

void RunKeepers::add(int chunk, const Parameter& parameter) {
  const std::shared_ptr<ParameterKeeper> keeper = parameter.keeper();
  std::vector<std::shared_ptr<ParameterKeeper>>& known = of_[chunk];
  if (keeper && std::find(known.begin(), known.end(), keeper) == known.end()) known.push_back(keeper);
}

void RunKeepers::add_used(const Module& module) {
  const Stages& stages = *module.stages();
  const int here = module.stage().value_or(0);
  for (const Parameter& parameter : module.used_of_others()) {
    const int there = chunk_of(stages, parameter);
    if (stages.spaces(here).mesh() == stages.spaces(there).mesh()) add(here, parameter);
  }
  for (const Module* part : module.parts()) add_used(*part);
}

void RunKeepers::come_to(int chunk, std::map<const ParameterKeeper*, std::int64_t>& came) const {
  const auto found = of_.find(chunk);
  if (found == of_.end()) return;
  for (const auto& keeper : found->second) keeper->come(run_, ++came[keeper.get()]);
}

}  // namespace riesz
