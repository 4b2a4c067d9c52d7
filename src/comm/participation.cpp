// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/participation.h"

namespace riesz {
namespace {

thread_local std::uint64_t times = 0;

}  // namespace

std::uint64_t participation_count() { return times; }
void count_participation() { ++times; }

}  // namespace riesz
