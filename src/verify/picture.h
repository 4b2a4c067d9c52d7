// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/comm/recording/recording.h"
#include "riesz/verify/fault.h"
#include "riesz/verify/matching.h"

namespace riesz {

/// A fault as a picture, an SVG 1.1 document. Each worker of it is a line downwards, with what it does
/// shortly before and after as boxes. A blue arrow leads from each send to its receive. The fault is red: an
/// arrow from a sender to its receiver, or from a worker to what it waits for. What a circle never comes to
/// is pale. Under the mouse a box says its whole operation and layer. At most 8 workers are drawn.
///
/// `fault`: of a job with these recordings and this matching, by `match` or `follow`. Pure.
std::string svg(const Fault& fault, const std::vector<Recording>& recordings, const StandIns& stand_ins,
                const Matching& matching);

}  // namespace riesz
