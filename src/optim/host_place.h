// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "riesz/optim/pages.h"

namespace riesz {

/// The memory of the host as the place of an optimizer's state, for values on a device:
///
///     zero.store()->keep_state_in(host_place(), LiesThere::state_and_masters);
///     AdamW optimizer(zero.store());  // the same bits as without
///
/// The state lies in pinned memory. A step copies it to the device page by page and back, in the order of the
/// current stream, and waits for none. On the device is one page of each number that the optimizer keeps for
/// an element. An optimizer of values on the CPU refuses it, for its state lies there already.
/// @throws Error unless `page_bytes` is a multiple of 4096.
std::shared_ptr<StatePlace> host_place(std::int64_t page_bytes = std::int64_t{4} << 20);

}  // namespace riesz
