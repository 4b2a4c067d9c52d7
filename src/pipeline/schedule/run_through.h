// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/pipeline/schedule/verify.h"

namespace riesz {

/// Runs a table whose actions `check_each_action` has passed, with messages but without time. Whether it ends
/// does not depend on how long anything takes. @throws Error naming a message that is not the one needed, or
/// the circle in which workers wait.
void run_through(const Schedule& schedule, const Boundaries& boundaries);

}  // namespace riesz
