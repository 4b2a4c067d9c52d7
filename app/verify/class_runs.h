// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/app/jobs/explain.h"
#include "riesz/app/verify/worker_classes.h"
#include "riesz/comm/recording/recording.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// A step of a training run as the first worker of each class, each by `explain`, until what they say to
/// others divides no class any more. Each of up to 64 workers is a class. The configuration outlives it.
class ClassRuns {
 public:
  /// @throws Error on bad input.
  explicit ClassRuns(const Config& config);

  const WorkerClasses& classes() const { return classes_; }
  /// One of each class, its first worker's, in the order of ranks.
  const std::vector<Recording>& recordings() const { return recordings_; }
  /// What the worker sends, by operator.
  const TrafficByOperation& operators_of(int rank) const { return operators_.at(classes_.first_of(rank)); }
  const std::string& model() const { return model_; }
  const std::string& mesh() const { return mesh_; }

  /// Runs one more worker.
  Recording run(int rank);
  /// How many were run.
  int runs() const { return runs_; }

 private:
  const Config& config_;
  WorkerClasses classes_;
  std::vector<Recording> recordings_;
  std::map<int, TrafficByOperation> operators_;
  Pieces pieces_;  // of the worker that was run last
  std::string model_, mesh_;
  int runs_ = 0;
};

}  // namespace riesz::app
