// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/verify/class_runs.h"

#include <utility>

#include "riesz/comm/recording/recorder.h"
#include "riesz/train/config/layout.h"

namespace riesz::app {
namespace {

/// Of so few workers all are run.
constexpr int kAllAreRun = 64;

Partition job_of_workers(const Config& config) {
  return Partition::simulated(workers_of(config)).grid(job_axes(config.layout));
}

}  // namespace

ClassRuns::ClassRuns(const Config& config) : config_(config), classes_(job_of_workers(config)) {
  const bool all = workers_of(config) <= kAllAreRun;
  if (all) classes_.divide_all();
  std::map<int, Recording> by_rank;
  for (bool divided = true; divided;) {
    divided = false;
    for (const int rank : classes_.firsts()) {
      if (by_rank.contains(rank)) continue;
      by_rank[rank] = run(rank);
      divided = (!all && classes_.refine(by_rank[rank], pieces_)) || divided;
    }
  }
  for (auto& [rank, recording] : by_rank) recordings_.push_back(std::move(recording));
}

Recording ClassRuns::run(int rank) {
  Recorder recorder;
  const StepPlan plan = explain(config_, rank, &recorder);
  operators_[rank] = plan.operators;
  pieces_ = plan.pieces;
  model_ = plan.model;
  mesh_ = plan.mesh;
  ++runs_;
  return recorder.take();
}

}  // namespace riesz::app
