// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/comm/counters.h"
#include "riesz/train/config.h"
#include "riesz/train/loop.h"

namespace riesz {

using TrafficByOperation = std::map<std::string, Traffic>;

/// Every worker's traffic, by rank, on every worker. Collective over the partition.
std::vector<TrafficByOperation> collect_traffic(const Partition& partition, const TrafficByOperation& mine);

/// A table: per operator what a rank sends, in elements and messages; the least and the greatest where ranks
/// differ.
std::string traffic_table(const std::vector<TrafficByOperation>& ranks);

/// What a run was and did: parameters, layout, data, speed, times, losses, traffic.
std::string summary(const Config& config, const LanguageModel& model, const Task& task,
                    const Trained& trained, const std::vector<TrafficByOperation>& traffic);

}  // namespace riesz
