// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/comm/status_board.h"

namespace riesz {

/// True if all of `peers` wait, each in one thread, only for each other and the worker `rank`, as the status
/// board says. Then nobody takes what that worker has sent. False if the board does not tell, as for other
/// hosts. Private to this room.
bool all_wait_for(int rank, const std::vector<int>& peers, const std::vector<WorkerStatus>& board);

}  // namespace riesz
