// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/app/jobs/expert_rows.h"
#include "riesz/app/jobs/form.h"
#include "riesz/app/verify/pieces.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/recompute/region_bytes.h"
#include "riesz/train/config/config.h"
#include "riesz/train/report/summary.h"

namespace riesz {
class Recorder;
}

namespace riesz::app {

/// The plan of a step: what one worker sends in one step of training.
struct StepPlan {
  std::string model;
  std::string mesh;
  std::string spaces;
  int rank = 0;
  std::vector<TrafficRecord> records;  ///< in the order of each one's first message
  TrafficByOperation operators;        ///< the same by operator alone, as the report of a training counts it
  std::vector<RegionBytes> regions;    ///< what runs again in backward, and what it keeps until then
  Pieces pieces;      ///< of what it computes with and of its neighbours; where a recorder is given
  std::string stage;  ///< what the worker has and does in the pipeline (`stage_text`), if there is one
  std::vector<RowsOfExperts> experts = {};  ///< of each layer that it computes and that has some
};

/// The words of `riesz explain`.
struct ExplainWords {
  int rank = 0;         ///< of the layout
  bool all = false;     ///< all ranks, by operator alone
  std::string layer;    ///< one layer and those below it, by its path; "" all
  bool spaces = false;  ///< also where each vector and weight lies
};

/// The number of workers of the configuration's layout. @throws Error where it is above 2²⁰.
int workers_of(const Config& config);

/// @throws Error unless the layout has this rank. Local.
void check_rank(const Config& config, int rank);

/// Finds what the worker of this rank of config.layout sends in a step. It runs the worker's part of one real
/// step of the real model in this process, without other workers (`Simulation`) and without values
/// (`WithoutValues`). So it takes little memory and time whatever the model's size, and counts what a worker
/// of a job counts. `recorder`: takes down all that the worker does, from the making of the model on. Local;
/// resets `Counters`. @throws Error on bad input.
StepPlan explain(const Config& config, int rank, Recorder* recorder = nullptr);

/// The part of a plan that the layer of this path and the layers below it send. @throws Error where they send
/// nothing, naming the layers that send something.
StepPlan of_layer(StepPlan plan, const std::string& path);

/// A line for each layer, phase and operator, then their sums; then the rows of each layer with experts, a
/// line for each region of `recompute`, and what the worker does in the pipeline.
std::string to_string(const StepPlan& plan);
/// The same as JSON.
std::string to_json(const StepPlan& plan);

/// The traffic of each of the layout's workers in one step, by operator, in the words of a training's report.
/// With more than 64 workers one of each class is run for all of it (`ClassRuns`).
std::string explain_all(const Config& config, Form form = Form::text);

/// What `riesz explain` prints. Local. @throws Error as these.
std::string explain_report(const Config& config, const ExplainWords& words, Form form);

}  // namespace riesz::app
