// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/under_way.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "riesz/pipeline/schedule/links.h"

namespace riesz {
namespace {

using Row = std::vector<Action>;

/// A number that goes up and down.
struct Level {
  int now = 0;
  int most = 0;

  void rise() { most = std::max(most, ++now); }
  void fall() { --now; }
};

bool goes_backward(const Schedule& schedule) {
  return std::any_of(schedule.rows.begin(), schedule.rows.end(),
                     [](const Row& row) { return std::any_of(row.begin(), row.end(), gives_gradient); });
}

/// Activations and inputs, in a table that goes backward.
std::pair<int, int> most_kept(const Row& row) {
  std::set<std::pair<int, int>> again;
  for (const Action& action : row) {
    if (action.pass == Pass::recompute) again.emplace(action.chunk, action.micro_batch);
  }
  Level activations, inputs;
  for (const Action& action : row) {
    if (action.pass == Pass::forward)
      (again.contains({action.chunk, action.micro_batch}) ? inputs : activations).rise();
    if (action.pass == Pass::recompute) {
      activations.rise();
      inputs.fall();
    }
    if (ends_micro_batch(action)) activations.fall();
  }
  return {activations.most, inputs.most};
}

/// Of one chunk. A version lives from the update that makes it until the next one, or as long as it is read.
int most_versions(const Row& row, int chunk) {
  std::vector<std::size_t> made = {0};
  std::map<int, std::size_t> read;
  for (std::size_t slot = 0; slot < row.size(); ++slot) {
    if (row[slot].pass == Pass::idle || row[slot].chunk != chunk) continue;
    read[row[slot].version] = slot + 1;
    if (row[slot].update) made.push_back(slot + 1);
  }
  std::vector<int> change(row.size() + 2);
  for (std::size_t version = 0; version < made.size(); ++version) {
    const bool newest = version + 1 == made.size();
    ++change[made[version]];
    if (!newest) --change[std::max(made[version + 1], read[static_cast<int>(version)])];
  }
  Level alive;
  for (const int by : change) alive.most = std::max(alive.most, alive.now += by);
  return alive.most;
}

}  // namespace

UnderWay under_way(const Schedule& schedule) {
  const bool keeps = goes_backward(schedule);
  UnderWay most;
  for (int worker = 0; worker < schedule.workers(); ++worker) {
    const Row& row = schedule.rows[worker];
    const auto [activations, inputs] = keeps ? most_kept(row) : std::pair{0, 0};
    most.activations.push_back(activations);
    most.inputs.push_back(inputs);
    int versions = 1;
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
      if (schedule.worker_of[chunk] == worker) versions = std::max(versions, most_versions(row, chunk));
    }
    most.versions.push_back(versions);
  }
  return most;
}

}  // namespace riesz
