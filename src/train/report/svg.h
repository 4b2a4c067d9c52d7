// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/train/report/chart.h"

namespace riesz {

/// The chart as a picture of its own: an SVG 1.1 document with title, axes, ticks, grid, curves and their
/// names. A curve of few points has a dot at each.
std::string svg(const Chart& chart);

}  // namespace riesz
