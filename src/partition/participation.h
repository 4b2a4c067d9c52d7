// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "riesz/comm/operation.h"

namespace riesz {

/// Notes that this thread takes part in `operation`, with other workers. An operator that communicates calls
/// it once for each step in which this worker takes part; any other collective call calls it once. It is
/// called also where nothing is sent, for the adjoint may send something. Background work, such as the
/// collectives on a team's buffers, does not call it.
void count_participation(const Operation& operation);

/// The number of these calls on this thread. If it does not change during a call of a module, the module does
/// not concern this worker and may be left out.
std::uint64_t participation_count();

/// A participation log: the labels of the operations in which its thread takes part while the log lives, in
/// order. By it a region that runs again is compared with its first run. Labels are equal if operator, spaces
/// and direction are. Logs nest; a label goes into each log of its thread.
class ParticipationLog {
 public:
  using Labels = std::vector<std::shared_ptr<const Label>>;

  ParticipationLog();
  ~ParticipationLog();
  ParticipationLog(const ParticipationLog&) = delete;
  ParticipationLog& operator=(const ParticipationLog&) = delete;

  const Labels& labels() const { return labels_; }

 private:
  friend void count_participation(const Operation& operation);

  Labels labels_;
  ParticipationLog* outer_;
};

}  // namespace riesz
