// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/partition/partition.h"

namespace riesz {

/// Throws an Error on all workers of P if some worker's text is not empty: the first such one, which has its
/// worker's prefix. Collective over P: one AllMin of one number, and a text from each worker to each only
/// where one has failed.
void throw_on_all(const Partition& P, const std::string& failed);

}  // namespace riesz
