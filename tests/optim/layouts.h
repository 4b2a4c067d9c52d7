// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "riesz/optim/optimizer.h"

namespace riesz::testing {

/// All grids (dp, tp) of the job's workers.
std::vector<Partition> meshes();
/// One worker of its own on each worker of the job.
Partition alone();

/// Parameters that tp shards in all ways, unevenly and emptily, and dp replicates: some that decay, a view of
/// a published shape, three dims, zigzag, one element; one starts as zero. With `by_dp` also one that dp
/// shards.
std::vector<Parameter> some_parameters(const Partition& mesh, at::ScalarType type, bool by_dp = false);

/// Gives each parameter the gradient of a step, the same global one at every layout; none to the one named
/// "idle".
void give_gradients(const std::vector<Parameter>& parameters, std::uint64_t step);
/// That global gradient of the i-th parameter, in its space's shape.
at::Tensor gradient_of(const Parameter& parameter, std::size_t i, std::uint64_t step);

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(std::shared_ptr<Store>)>;

/// 20 steps of the optimizer on whole and on unevenly shared parameters: at every grid the values of one
/// worker, to 1e-12 of the largest, and replicas the same bit for bit. Collective over the job.
void expect_same_at_every_layout(const MakeOptimizer& make);

/// The global values that the parameters mean. Collective over their partition.
std::vector<at::Tensor> values_of(const std::vector<Parameter>& parameters);

}  // namespace riesz::testing
