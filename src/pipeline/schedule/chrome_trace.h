// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

/// The timeline as a trace that chrome://tracing and Perfetto show: a thread for each worker, an event for
/// each action, named as in a CSV file. Its times are taken as seconds.
std::string chrome_trace(const Timeline& timeline);

}  // namespace riesz
