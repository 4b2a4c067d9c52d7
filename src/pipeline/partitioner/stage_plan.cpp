// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/stage_plan.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

#include "riesz/comm/error.h"
#include "riesz/comm/table_text.h"
#include "riesz/nn/names.h"

namespace riesz {
namespace {

/// Adds every module's own cost to its stage's, and tells whether the stage has it with all below it; those
/// that it has so go to `whole`, of the root its parts.
bool visit(const CostTree& tree, bool root, int inherited, ModuleStages& said, StagePlan& plan,
           std::vector<std::pair<std::string, int>>& whole) {
  int stage = inherited;
  if (const auto found = said.find(tree.path); found != said.end()) {
    stage = found->second;
    said.erase(found);
  }
  const auto s = static_cast<std::size_t>(stage);
  plan.stages[s].cost += tree.own;
  const std::size_t before = whole.size();
  bool all = true;
  for (const CostTree& child : tree.children) all = visit(child, false, stage, said, plan, whole) && all;
  all = all && std::all_of(whole.begin() + static_cast<std::ptrdiff_t>(before), whole.end(),
                           [&](const auto& each) { return each.second == stage; });
  if (all && !(root && before < whole.size())) {
    whole.resize(before);
    whole.emplace_back(tree.path, stage);
  }
  return all;
}

std::string shown(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return concat(text, " ", unit);
}

std::string seconds(double t) {
  if (t >= 1) return shown("%.2f", t, "s");
  return t >= 1e-3 ? shown("%.2f", t * 1e3, "ms") : shown("%.1f", t * 1e6, "us");
}

std::string bytes(double b) {
  for (const char* unit : {"B", "KiB", "MiB", "GiB"}) {
    if (b < 1024) return shown(*unit == 'B' ? "%.0f" : "%.1f", b, unit);
    b /= 1024;
  }
  return shown("%.1f", b, "TiB");
}

std::string share(double part, double whole) {
  return whole > 0 ? shown("%.0f", 100 * part / whole, "%") : "-";
}

/// The outermost level first.
std::string workers_of(const StagePlan::Stage& stage) {
  if (stage.by_level.empty()) return std::to_string(stage.workers);
  std::string text;
  for (auto each = stage.by_level.rbegin(); each != stage.by_level.rend(); ++each)
    text += (text.empty() ? "" : " x ") + std::to_string(*each);
  return text;
}

}  // namespace

StagePlan stage_plan(const CostTree& tree, const ModuleStages& placement, int stages) {
  StagePlan plan;
  plan.placement = placement;
  plan.stages.resize(static_cast<std::size_t>(stages));
  for (const auto& [path, stage] : placement)
    RIESZ_CHECK(stage >= 0 && stage < stages, "The module '", path, "' is placed in stage ", stage,
                "; there are ", stages, ", from 0 on");
  ModuleStages said = placement;
  std::vector<std::pair<std::string, int>> whole;
  visit(tree, true, 0, said, plan, whole);
  RIESZ_CHECK(said.empty(), "There is no module '", said.begin()->first, "' to place in stage ",
              said.begin()->second);
  for (const auto& [path, stage] : whole)
    plan.stages[static_cast<std::size_t>(stage)].modules.push_back(path);
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    RIESZ_CHECK(!plan.stages[s].modules.empty(), "Stage ", s, " of ", stages,
                " would have no module; place one there, or take fewer stages");
  return plan;
}

std::string to_string(const StagePlan& plan) {
  Cost all;
  bool replicated = false;
  for (const auto& stage : plan.stages) {
    all += stage.cost;
    replicated = replicated || stage.workers > 1;
  }
  std::vector<std::vector<std::string>> rows{
      {"stage", "time", "share", "memory", "share", "workers", "modules"}};
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const StagePlan::Stage& stage = plan.stages[s];
    rows.push_back({std::to_string(s), all.time > 0 ? seconds(stage.cost.time) : "-",
                    share(stage.cost.time, all.time), bytes(stage.cost.memory()),
                    share(stage.cost.memory(), all.memory()), workers_of(stage), shortened(stage.modules)});
  }
  if (!replicated)
    for (auto& row : rows) row.erase(row.end() - 2);
  return table_text(rows, replicated ? "rrrrrrl" : "rrrrrl");
}

}  // namespace riesz
