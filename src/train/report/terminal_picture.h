// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/train/report/chart.h"

namespace riesz {

/// The chart in lines of text, UTF-8: a field of columns × rows characters with its axes beside it. The first
/// curve is drawn in Braille dots, 2 × 4 to a character; points of the others are letters: o, x, +.
std::string terminal_picture(const Chart& chart, int columns = 60, int rows = 12);

}  // namespace riesz
