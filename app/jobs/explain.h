// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "riesz/app/jobs/form.h"
#include "riesz/comm/counters.h"
#include "riesz/nn/recompute/region_bytes.h"
#include "riesz/train/config/config.h"
#include "riesz/train/report/summary.h"

namespace riesz::app {

/// What one worker sends in one step of training.
struct StepPlan {
  std::string model;
  std::string mesh;
  std::string spaces;
  int rank = 0;
  std::vector<Record> records;       ///< in the order in which each sends first
  TrafficByOperation operators;      ///< the same by operator alone, as the report of a training counts it
  std::vector<RegionBytes> regions;  ///< what runs again in backward, and what it keeps until then
  std::string stage;  ///< what the worker has and does in the pipeline (`stage_text`), if there is one
};

/// How many workers the configuration's layout has. @throws Error where they are more than 2²⁰.
int workers_of(const Config& config);

/// What the worker of this rank, of config.layout's, sends in a step. Its part of one real step of the real
/// model is run in this process, with no other worker (`Simulation`). That takes one worker's memory and one
/// step's time, and counts what a job's worker counts. Local; resets `Counters`. @throws Error on bad input.
StepPlan explain(const Config& config, int rank);

/// The part of a plan that the layer of this path and the layers below it send. @throws Error, naming the
/// layers that send something, where none of these does.
StepPlan of_layer(StepPlan plan, const std::string& path);

/// A line for each layer, phase and operator, then their sums; then a line for each region of `recompute`,
/// and what the worker does in the pipeline.
std::string to_string(const StepPlan& plan);
/// The same as JSON.
std::string to_json(const StepPlan& plan);

/// What each of the layout's workers sends, by operator, in the words of a training's report. One step each.
std::string explain_all(const Config& config, Form form = Form::text);

}  // namespace riesz::app
