// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/partition/partition.h"

namespace riesz {

/// Have all workers the same number, such as a digest of their data? Collective over the partition.
/// @throws Error on all of them, naming `what` and the first rank that differs from rank 0.
void check_alike(const Partition& partition, const std::string& what, std::uint64_t number);

/// Every worker's text, by rank, on every worker. Collective over the partition.
std::vector<std::string> collect_texts(const Partition& partition, const std::string& mine);

/// A digest of a text: FNV-1a.
std::uint64_t digest(const std::string& text);

}  // namespace riesz
