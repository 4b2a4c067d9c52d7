// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// The timeline as a picture of its own, an SVG document. It has a line for each worker, and a box for each
/// action, as wide as it takes time, with the number of its micro-batch. Each pass has a colour, paler for a
/// worker's later chunks. There is an axis of time. Under the mouse a box says all of its action. For what
/// was simulated and for what was recorded.
std::string svg(const Timeline& timeline, const std::string& title);

}  // namespace riesz
