// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/backward_passes.h"

#include <atomic>

namespace riesz {
namespace {

std::atomic<std::uint64_t> gone_back = 0;

}  // namespace

std::uint64_t backward_passes() { return gone_back; }

void count_backward_pass() { ++gone_back; }

}  // namespace riesz
