// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/train/config/config.h"
#include "riesz/train/loop/loop.h"

namespace riesz {

using TrafficByOperation = std::map<std::string, Traffic>;

/// Every worker's traffic, by rank, on every worker. Collective over the partition. Cost: a text from each
/// worker to each.
std::vector<TrafficByOperation> collect_traffic(const Partition& partition, const TrafficByOperation& mine);

/// A table of what a rank sends for each operator, in elements and messages; the least and the greatest where
/// ranks differ.
std::string traffic_table(const std::vector<TrafficByOperation>& ranks);

/// The bytes that a rank holds.
struct RankMemory {
  Memory state;
  std::int64_t resident = 0;  ///< the most physical memory that its process has had
};

/// Every worker's memory, by rank, on every worker. Collective over the partition.
std::vector<RankMemory> collect_memory(const Partition& partition, const Memory& mine);

/// A table of what a rank holds in each category, in MiB; the least and the greatest where ranks differ. With
/// `resident`, also the peak memory of its process.
std::string memory_table(const std::vector<RankMemory>& ranks, bool resident);

/// The summary of a run: parameters, layout, data, speed, times, losses, traffic.
std::string summary(const Config& config, const Learner& model, const Task& task, const Trained& trained,
                    const std::vector<TrafficByOperation>& traffic, const std::vector<RankMemory>& memory);

}  // namespace riesz
