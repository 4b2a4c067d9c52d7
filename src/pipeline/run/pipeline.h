// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "riesz/comm/late_number.h"
#include "riesz/nn/module.h"
#include "riesz/partition/vector.h"
#include "riesz/pipeline/schedule/simulate.h"

namespace riesz {

class WeightVersions;

/// Runs micro-batches of a placed model (`Stages`) as a schedule says. The model's own forward runs, whatever
/// it is written like. It is cut where it comes to a module of another stage. A chunk is computed in between:
/// stage c of the model is the schedule's chunk c. It goes forward at one of the schedule's times and
/// backward at another.
///
///     const Pipeline pipeline(model, schedules::one_f_one_b({.stages = 2, .micro_batches = 8}));
///     const std::vector<double> losses = pipeline.train([&](std::int64_t i) {
///       return cross_entropy(model(ids(i)), targets(i)).mean();   // as without a pipeline
///     });
///     optimizer.step();
///
/// A worker's row of the schedule decides what it computes next, and nothing else does: so all workers of a
/// stage do the same. Each micro-batch has a thread and a channel of messages of its own; of a worker's
/// threads one runs at a time. The inputs of a chunk are under way while another computes. Sends wait for
/// nobody.
///
/// Parameters that `Zero` keeps: one Zero for the `parameters(c)` of each chunk c. A run tells each of them
/// that it has m passes: the micro-batches.
///
/// Where the schedule has recompute actions, regions (`recompute`) run again there, and those of other chunks
/// and micro-batches not at all; else when backward comes to them.
///
/// Between modules a model computes where its vectors lie, in the chunk of the module before. What one chunk
/// computed, another takes as an argument of its modules.
///
/// A parameter that modules of several stages use (tied weights) is brought to each once a run, and its
/// gradient back.
///
/// Cost of a boundary: the natural map of each vector that crosses, forward, and its adjoint, backward.
class Pipeline {
 public:
  /// For a model that is placed (`Stages`), which outlives it. @throws Error unless the schedule can be run
  /// (`verify`), and has a chunk for each stage. Chunks of one worker of the schedule must lie on the same
  /// processes, and those of different workers on different ones.
  Pipeline(const Module& model, Schedule schedule);

  /// Forward and backward of each micro-batch i of the schedule: `loss(i)` is a scalar, Replicated where it
  /// lies, computed on all workers alike. Gradients are added to those that parameters have. @returns the
  /// losses, on all workers. Collective over the workers of all stages. Where a `record` is given, the times
  /// of this worker's actions are added to it, in seconds of the host's steady clock. An action's time begins
  /// when it has what it waits for.
  /// @throws Error if the schedule has updates, or no backward passes. Error with the text of what `loss`
  /// threw, and the micro-batch and the chunk; that is nested in it, and the others are given up. Where all
  /// workers throw at one place, the program may go on, with gradients as far as they came; where some do,
  /// the others wait until the deadline. Error where the model takes a way that has no place in the schedule,
  /// or mixes chunks between modules. Error where a region crosses stages, or where this worker waits for
  /// what it has yet to give.
  LateNumbers train(const std::function<Vector(std::int64_t)>& loss,
                    std::vector<Timed>* record = nullptr) const;

  /// The same by a schedule that updates weights between its passes (pipedream, two_bw, ampnet). `update(c)`
  /// is called on chunk c's workers after each action with an update, if the chunk has trained parameters. It
  /// steps an optimizer of those, `parameters(c)`, by the gradients since their last update, scaled as it
  /// likes, and clears them. Each pass reads the version of its chunk's weights that the table says; older
  /// ones than the newest are copies, as many as the table has (`UnderWay::versions`). A run ends when all
  /// micro-batches are through, as its table does: the next one begins with the newest weights as version 0.
  /// A Zero of stage 0, 1 or 2 may keep a chunk's parameters. Then gradients are summed over its workers once
  /// an update; in stages 1 and 2 values are gathered once an update. It needs no begin().
  /// @throws Error also if a parameter is lent to another stage, or kept by Zero in stage 3.
  LateNumbers train(const std::function<Vector(std::int64_t)>& loss,
                    const std::function<void(int chunk)>& update) const;

  /// The trained parameters of a chunk, in the model's order; there may be none.
  std::vector<Parameter> parameters(int chunk) const;
  /// On which it lies.
  const Partition& workers(int chunk) const;
  /// The most versions of a chunk's weights that this worker had at a time in the last run.
  int versions() const { return versions_; }

  /// Forward alone, without gradients, of each micro-batch i: `call(i)`, which keeps what is of interest. In
  /// the schedule's order of forward passes, of schedules with updates too. Collective as `train`. Time, of m
  /// micro-batches on p equal stages: (m + p − 1)/(p·m) of that of one stage after another.
  /// @throws Error as `train`, of what goes forward.
  void evaluate(const std::function<void(std::int64_t)>& call) const;

  const Schedule& schedule() const { return schedule_; }

 private:
  LateNumbers run(const std::function<Vector(std::int64_t)>& loss, WeightVersions* versions,
                  std::vector<Timed>* record) const;

  void check_chunk(const char* what, int chunk) const;

  const Module& model_;
  std::vector<Partition> homes_;  // by stage
  Schedule schedule_;
  Schedule forward_only_;
  int worker_ = -1;  // this worker's row; −1: in no stage
  mutable int versions_ = 1;
};

}  // namespace riesz
