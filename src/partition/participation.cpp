// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/participation.h"

#include <utility>

namespace riesz {
namespace {

thread_local std::uint64_t times = 0;
thread_local ParticipationLog* innermost_log = nullptr;

}  // namespace

void count_participation(const Operation& operation) {
  ++times;
  for (ParticipationLog* log = innermost_log; log != nullptr; log = log->outer_)
    log->labels_.push_back(operation.label);
}

std::uint64_t participation_count() { return times; }

ParticipationLog::ParticipationLog() : outer_(std::exchange(innermost_log, this)) {}
ParticipationLog::~ParticipationLog() { innermost_log = outer_; }

}  // namespace riesz
