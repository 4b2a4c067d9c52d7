// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// The table as text: a line for each worker, a cell for each slot; then a line that says what the letters
/// mean.
std::string draw(const Schedule& schedule);

}  // namespace riesz
