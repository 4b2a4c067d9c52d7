// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "riesz/optim/state.h"
#include "riesz/partition/interval.h"

namespace riesz {

/// The part of a flat vector of n elements that a worker has, or needs.
struct SavedPart {
  std::int64_t n = 0;
  at::ScalarType type = at::kFloat;
  Intervals intervals;
};

/// Identifies a vector, by name and key.
using SavedKey = std::pair<std::string, std::string>;
using SavedTable = std::map<SavedKey, SavedPart>;

/// The table of these views, or of those that this worker counts.
SavedTable table_of(const State& state, bool counted);

/// Every worker's table, by rank. Collective over P. Cost: a text from each to each. Intervals of equal size
/// and distance, such as those of a table that is sharded by width, take four numbers.
std::vector<SavedTable> tables_of_all(const Partition& P, const SavedTable& mine);

/// nullptr if it has none.
const SavedPart* find(const SavedTable& table, const SavedKey& key);

/// By worker; nothing where it has none.
std::vector<Intervals> intervals_of(const std::vector<SavedTable>& tables, const SavedKey& key);

/// The same with each element on one worker only: copies in other stores are left out.
std::vector<Intervals> each_once(const std::vector<Intervals>& held);

}  // namespace riesz
