// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/stages/stages.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/module.h"

namespace riesz {
namespace {

std::vector<ModelSpaces> with_roles(const std::vector<Layout>& layouts, const Roles& roles) {
  std::vector<ModelSpaces> spaces;
  spaces.reserve(layouts.size());
  for (const Layout& layout : layouts) spaces.emplace_back(layout, roles);
  return spaces;
}

Partition union_of(const std::vector<ModelSpaces>& spaces) {
  RIESZ_CHECK(!spaces.empty(), "Stages: a model has one stage at least; give the spaces of each");
  Partition all = spaces.front().mesh();
  for (const ModelSpaces& one : spaces) {
    if (!(one.mesh() == all)) all = all | one.mesh();
  }
  return all;
}

}  // namespace

bool covers(const std::string& path, const std::string& module) {
  return path.empty() ||
         (module.starts_with(path) && (module.size() == path.size() || module[path.size()] == '.'));
}

Stages::Stages(std::vector<ModelSpaces> spaces, std::map<std::string, int> stage_of)
    : spaces_(std::move(spaces)), stage_of_(std::move(stage_of)), workers_(union_of(spaces_)) {
  for (const ModelSpaces& one : spaces_)
    RIESZ_CHECK(one.stages() == nullptr,
                "Stages: the spaces of a stage are those of one place, without "
                "stages of their own");
  for (const auto& [path, stage] : stage_of_)
    RIESZ_CHECK(stage >= 0 && stage < size(), "Stages: ", path, " is of stage ", stage,
                ", but there are spaces for the stages 0 to ", size() - 1,
                "; number them without holes, and give spaces for each");
}

Stages::Stages(const std::vector<Layout>& layouts, const Roles& roles, std::map<std::string, int> stage_of)
    : Stages(with_roles(layouts, roles), std::move(stage_of)) {}

const ModelSpaces& Stages::spaces(int stage) const {
  RIESZ_CHECK(stage >= 0 && stage < size(), "Stages: there is no stage ", stage, " among ", size());
  return spaces_[static_cast<std::size_t>(stage)];
}

std::optional<int> Stages::named(const std::string& module) const {
  const auto whole = stage_of_.find("");
  const std::optional<int> below = named(module, "");
  return below || whole == stage_of_.end() ? below : whole->second;
}

std::optional<int> Stages::named(const std::string& module, const std::string& owner) const {
  std::optional<int> found;
  std::size_t longest = owner.size();
  for (const auto& [path, stage] : stage_of_) {
    if (path.size() <= longest || !covers(path, module)) continue;
    longest = path.size();
    found = stage;
  }
  return found;
}

bool Stages::spans(const std::string& module, int stage) const {
  return std::any_of(stage_of_.begin(), stage_of_.end(), [&](const auto& one) {
    return one.second != stage && one.first.size() > module.size() && covers(module, one.first);
  });
}

void check_placed(const Module& model) {
  const Stages* stages = model.stages();
  if (stages == nullptr) return;
  const std::vector<std::string> modules = model.paths();
  for (const auto& [path, stage] : stages->paths()) {
    const bool any = std::any_of(modules.begin(), modules.end(),
                                 [&path = path](const std::string& module) { return covers(path, module); });
    std::string known;
    for (const std::string& module : modules) {
      const bool parts = module.find_first_of('.', path.size()) == std::string::npos;
      if (!any && parts && !module.empty()) known += (known.empty() ? "" : ", ") + module;
    }
    RIESZ_CHECK(any, "Stages: no module of the model is named ", path, ", of stage ", stage,
                ", nor any below it; there are ", known);
  }
}

}  // namespace riesz
