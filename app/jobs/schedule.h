// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/app/jobs/form.h"
#include "riesz/pipeline/schedule/makers.h"

namespace riesz::app {

/// The words of `riesz schedule`.
struct ScheduleRequest {
  std::string what;  ///< a schedule's name, or a file whose name ends in .csv
  ScheduleOptions options;
  bool forward_only = false;
  std::string costs = "1,1,1";  ///< forward, backward of inputs, of weights, and sending if not 0
  std::optional<int> capacity;  ///< messages under way between two workers
  std::string svg;              ///< where to write the timeline as a picture; "" nowhere
  std::string trace;            ///< the same as a Chrome trace
  std::string csv;              ///< where to write the table; "" nowhere
};

/// @throws Error where the words are wrong, whatever a file says: costs, a schedule's name and its options.
/// Local.
void check_schedule(ScheduleRequest request);

/// Draws the requested schedule as text, with its time for these costs, its idle share, and what each worker
/// keeps. Writes the requested files. Local. @throws Error on bad input, and where the table cannot be run
/// (`verify`).
std::string schedule_report(ScheduleRequest request, Form form = Form::text);

}  // namespace riesz::app
