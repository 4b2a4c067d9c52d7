// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/sin.h>

#include <cmath>
#include <utility>

#include "riesz/app/doctor/finding.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/layout/layout.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"

namespace riesz::app {
namespace {

/// Numbers that are the same on all ranks and have no pattern.
at::Tensor numbers(std::int64_t rows, std::int64_t columns, double frequency) {
  return at::sin(at::arange(rows * columns, at::kDouble) * frequency).view({rows, columns});
}

Finding adjoint_of(const Space& X, const Space& Y) {
  const at::NoGradGuard no_gradients;
  const Operator A = between(X, Y);
  const Vector x = distribute(X, numbers(7, 11, 1.3)), y = distribute(dual(Y), numbers(7, 11, 2.9));
  const double there = pairing(A(x), y), back = pairing(x, adjoint(A)(y));
  const double far = std::abs(there - back) / (std::abs(there) + std::abs(back));
  Finding finding{to_string(A), concat("adjoint to ", far), ""};
  if (!(far < 1e-12))
    finding.remedy = concat("<A x, y> = ", there, " but <x, A* y> = ", back,
                            "; messages are damaged: try RIESZ_TRANSPORT=mpi, and another MPI library");
  return finding;
}

/// Losses of a few steps on the workers of a grid (dp, tp).
std::vector<double> losses_on(const Partition& grid) {
  const models::MinGptConfig config{
      .layers = 2, .heads = 2, .width = 16, .vocabulary = 17, .context = 8, .dropout = 0};
  models::MinGpt model(spaces::one_d(grid), config);
  model.initialise(1, at::kDouble);
  AdamW optimizer(model.parameters(), {.learning_rate = 1e-2});
  const at::Tensor all = at::arange(4 * 8, at::kLong).view({4, 8});
  std::vector<double> losses;
  for (int step = 0; step < 5; ++step) {
    Chain chain;
    const Vector logits = model(distribute(model.tokens().with_shape({4, 8}), all * all % 17));
    const Vector loss =
        cross_entropy(logits, distribute(model.targets().with_shape({4, 8}), (all + 1) * (all + 1) % 17))
            .mean();
    backward(loss);
    optimizer.step();
    optimizer.zero_gradients();
    losses.push_back(loss.local().item<double>());
  }
  return losses;
}

}  // namespace

std::vector<Finding> examine_adjoints() {
  const Partition all = Partition::world().grid({{"all", Runtime::size()}});
  const Space X(all, {7, 11});
  const Space rows = X.sharded(0, "all"), columns = X.sharded(1, "all");
  std::vector<Finding> findings;
  for (const auto& [from, to] : std::vector<std::pair<Space, Space>>{{rows, X.copied("all")},
                                                                     {X.partial("all"), columns},
                                                                     {X.partial("all"), X.copied("all")},
                                                                     {rows, columns},
                                                                     {X, X.copied("all")}})
    findings.push_back(adjoint_of(from, to));
  return findings;
}

std::vector<Finding> examine_training() {
  const Partition world = Partition::world();
  const std::vector<double> alone = losses_on(world.subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}));
  const std::vector<double> together = losses_on(world.grid({{"dp", 1}, {"tp", Runtime::size()}}));
  double far = 0;
  for (std::size_t i = 0; i < alone.size(); ++i)
    far = std::max(far, std::abs(alone[i] - together[i]) / alone[i]);
  Finding finding{concat("training on ", Runtime::size(), Runtime::size() == 1 ? " rank" : " ranks"),
                  concat("loss ", together.front(), ", then ", together.back(),
                         "; relative difference to one rank ", far),
                  ""};
  if (!(far < 1e-10)) finding.remedy = "the losses differ: report this, with what is printed here";
  return {finding};
}

}  // namespace riesz::app
