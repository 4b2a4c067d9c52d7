// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/comm/board.h"

namespace riesz {

/// Do all of `peers` wait, each in one thread, for nobody but each other and the worker `rank`, as the board
/// says? Then nobody comes to take what that worker has sent, if it stays so. False where the board does not
/// tell, as of other hosts. Private to this room.
bool all_wait_for(int rank, const std::vector<int>& peers, const std::vector<Status>& board);

}  // namespace riesz
