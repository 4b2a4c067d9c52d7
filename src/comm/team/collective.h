// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/progress/background.h"

namespace riesz {

/// A team collective: a collective on a `TeamBuffer` under way. After `wait` this worker has its result, and
/// no peer reads this worker's buffer any more. `wait` throws an Error if the team's workers began different
/// collectives. On a device the result and the buffer are those of the stream that has waited: `advance` says
/// only that all is queued.
class TeamCollective : public BackgroundTask {
 protected:
  using BackgroundTask::BackgroundTask;
};

}  // namespace riesz
