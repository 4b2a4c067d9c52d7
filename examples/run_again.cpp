// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model keeps of its blocks what they are given, and computes them again in backward: the same loss and
// gradients, bit for bit.
//   riesz-mpirun -n 2 run_again
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <cstdio>
#include <map>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/recompute/region_bytes.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

using namespace riesz;

struct Outcome {
  double loss;
  std::vector<at::Tensor> gradients;
};

Outcome step(models::MinGpt& model) {
  at::Tensor count = at::arange(4 * 16, at::kLong).view({4, 16});
  Vector ids = distribute(model.tokens().with_shape({4, 16}), count * count % 31);
  Vector next = distribute(model.targets().with_shape({4, 16}), (count + 1) * (count + 1) % 31);
  ContextScope context({.training = true, .seed = 1});  // of dropout's masks
  Chain chain;
  Vector loss = cross_entropy(model(ids), next).mean();
  backward(loss);  // each region is computed again when it comes to it
  Outcome all{loss.local().item<double>(), {}};
  for (Parameter& parameter : model.parameters()) {
    all.gradients.push_back(parameter.gradient().local());
    parameter.zero_gradient();
  }
  return all;
}

bool same(const Outcome& a, const Outcome& b) {
  bool alike = a.loss == b.loss;
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    alike = alike && at::equal(a.gradients[i], b.gradients[i]);
  return alike;
}

int show(int, char**) {
  Partition mesh = Partition::world().grid({{"dp", 1}, {"tp", Runtime::size()}});
  models::MinGpt model(spaces::one_d(mesh),
                       {.layers = 3, .heads = 2, .width = 32, .vocabulary = 31, .context = 16});
  model.initialise(1, at::kDouble);
  Outcome plain = step(model);

  using Regions = RecomputePolicy::Regions;
  std::vector<std::pair<const char*, RecomputePolicy>> policies{
      {"all blocks", {.regions = Regions::blocks}},
      {"blocks, in pieces", {.regions = Regions::blocks, .pieces_over = {"tp"}}},
      {"every other block", {.regions = Regions::blocks, .every = 2}},
      {"attention", {.regions = Regions::attention}}};
  for (auto& [name, policy] : policies) {
    set_recompute(model, policy);
    Counters::instance().record(true);
    Outcome again = step(model);
    std::int64_t sent = 0, kept = 0;
    for (const TrafficRecord& record : Counters::instance().records())
      if (record.origin.phase == Phase::recompute) sent += record.traffic.elements;
    for (const RegionBytes& region : take_region_bytes()) kept += region.bytes;
    Counters::instance().record(false);
    if (mesh.rank() == 0)
      std::printf("%-18s regions keep %5ld bytes, send %5ld elements again: %s\n", name, long(kept),
                  long(sent), same(plain, again) ? "the same bits" : "OTHER BITS");
  }
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, show); }
