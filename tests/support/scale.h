// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/partition/vector.h"

namespace riesz::testing {

/// What a run of a model leaves, as global tensors by name.
struct TrainingRun {
  std::map<std::string, at::Tensor> initial;  ///< weights before the first step
  std::map<std::string, at::Tensor> results;  ///< outputs, losses, gradients, weights after some steps

  /// Gather every parameter of a module under its name: its value now as initial; its gradient as "gradient
  /// of …"; its value now as "… after training". Collective over the parameters' partition.
  /// Of a model in several stages: on all workers of all of them.
  void add_initial(const Module& module);
  void add_gradients(const Module& module);
  void add_weights(const Module& module);
  /// A vector of the module's as a global tensor, on the same workers.
  static at::Tensor gathered(const Module& module, const Vector& x);
};

/// Is a run the reference? The same names on both sides; initial weights with ==; each other tensor to
/// max|a − b| ≤ bound·max(its largest entry, 1e-6·the largest entry of all results). The message names each
/// tensor that differs, by how much, and the bound. Nothing to compare is a failure. Local.
::testing::AssertionResult compare_runs(const TrainingRun& run, const TrainingRun& reference,
                                        double bound = 1e-10);

/// Are a run's results the reference's, bit for bit? Of the same names. Local.
void expect_same_bits(const TrainingRun& run, const TrainingRun& reference);

/// Builds a model on a mesh, trains it and gathers what is to be compared.
using MakeRun = std::function<TrainingRun(const Partition& mesh, int steps)>;

/// Is the run on every mesh the one of a single worker? The reference runs in each process by itself, on a
/// mesh of the same axes with one worker each. Collective over the job.
::testing::AssertionResult is_scale_equivalent(const MakeRun& make, const std::vector<Partition>& meshes,
                                               int steps);

}  // namespace riesz::testing

/// Expects the same initial weights, results and trained weights on every mesh as on one worker. `make` is a
/// MakeRun: it sees the layout only through its mesh.
#define EXPECT_SCALE_EQUIVALENT(make, meshes, steps) \
  EXPECT_TRUE(::riesz::testing::is_scale_equivalent(make, meshes, steps))
