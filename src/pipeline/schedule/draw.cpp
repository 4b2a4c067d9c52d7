// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/draw.h"

#include <algorithm>
#include <set>

namespace riesz {
namespace {

/// Without the chunk where each worker has one: its line says which.
std::string cell(const Action& action, bool one_chunk) {
  if (action.pass == Pass::idle) return ".";
  const std::string text = to_string(action);
  return one_chunk ? text.substr(std::to_string(action.chunk).size()) : text;
}

std::string legend(const Schedule& schedule, bool one_chunk) {
  std::set<Pass> passes;
  bool versions = false, updates = false;
  for (const auto& row : schedule.rows) {
    for (const Action& action : row) {
      passes.insert(action.pass);
      versions |= action.version > 0;
      updates |= action.update;
    }
  }
  std::string text = one_chunk ? "F3: micro-batch 3; " : "2F3: chunk 2, micro-batch 3; ";
  if (versions) text += "@ version of weights if not 0; ";
  if (updates) text += "+ then an update; ";
  for (const Pass pass : {Pass::forward, Pass::backward, Pass::backward_inputs, Pass::backward_weights,
                          Pass::recompute, Pass::idle}) {
    if (passes.contains(pass)) text += std::string{letter(pass), ' '} + name_of(pass) + ", ";
  }
  return text.substr(0, text.size() - 2) + "\n";
}

}  // namespace

std::string draw(const Schedule& schedule) {
  const bool one_chunk = schedule.worker_of == looped(schedule.workers(), 1);
  std::size_t width = 1;
  for (const auto& row : schedule.rows) {
    for (const Action& action : row) width = std::max(width, cell(action, one_chunk).size());
  }
  const std::size_t digits = std::to_string(schedule.workers() - 1).size();
  std::string text;
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    const std::string number = std::to_string(worker);
    text += "worker " + std::string(digits - number.size(), ' ') + number + " ";
    for (const Action& action : schedule.rows[worker]) {
      const std::string shown = cell(action, one_chunk);
      text += " " + shown + std::string(width - shown.size(), ' ');
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  return text + legend(schedule, one_chunk);
}

}  // namespace riesz
