// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "riesz/comm/transport.h"

namespace riesz {

/// Sends in the background until all is taken. Nobody else may write the memory of `sends`. Bytes that are
/// not taken immediately count as `Counters::untaken` until they are. If more bytes are untaken than
/// `most_untaken`, the call waits. A call from inside a background task never waits. @throws Error naming
/// both ends if all receivers wait for this worker, so that nobody would ever go on. Private to src/comm.
void send_in_background(const std::string& operation, std::int64_t bytes, std::unique_ptr<Requests> sends);

}  // namespace riesz
