// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/train/data/task.h"

namespace riesz {

/// Lines of a report: the intersection over union of held-out pixels, the mean and that of each label.
std::vector<std::string> overlap_lines(const HeldOut& held_out, const std::vector<std::string>& names);

}  // namespace riesz
