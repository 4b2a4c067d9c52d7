// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/comm/recording/recording.h"
#include "riesz/verify/fault.h"
#include "riesz/verify/matching.h"

namespace riesz {

/// A fault as a picture, an SVG 1.1 document. Each worker is a line downwards. Boxes on it are what the
/// worker does shortly before and after. A blue arrow leads from each send to its receive. The fault is red:
/// its arrow leads from a sender to its receiver, or from a worker to what it waits for. Pale boxes are
/// events that the workers of a circle never reach. Under the mouse a box says its whole operation and layer.
/// At most 8 workers are drawn.
///
/// `fault` comes from `match`, `follow` or `fault_of_waits`, of these recordings. Pure.
std::string svg(const Fault& fault, const std::vector<Recording>& recordings, const StandIns& stand_ins,
                const Matching& matching);

}  // namespace riesz
