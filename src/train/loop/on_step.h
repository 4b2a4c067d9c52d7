// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

namespace riesz {

struct Row;

/// Called on every worker after each step, with its row of the history; on a device later (`run_training`).
using OnStep = std::function<void(const Row&)>;

}  // namespace riesz
