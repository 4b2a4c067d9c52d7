// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The same model in stages, by every partitioner: what each stage has and costs.
#include <ATen/ops/arange.h>

#include <cstdio>
#include <string>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/pipeline/partitioner/measured.h"
#include "riesz/pipeline/partitioner/partition_by.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

using namespace riesz;

const models::MinGptConfig config{
    .layers = 6, .heads = 4, .width = 64, .vocabulary = 2048, .context = 64, .dropout = 0};

/// Seconds of forward and backward, as if measured: so the page is the same on every machine.
void set_times(CostTree& tree) {
  if (tree.path == "transformer.wte") tree.own.time = 0.2e-3;
  if (tree.path.ends_with(".attn")) tree.own.time = 0.6e-3;
  if (tree.path.ends_with(".mlp")) tree.own.time = 0.8e-3;
  if (tree.path == "lm_head") tree.own.time = 2.6e-3;
  for (CostTree& part : tree.children) set_times(part);
}

void show(const std::string& name, const StagePlan& plan) {
  std::printf("== %s\n%s", name.c_str(), to_string(plan).c_str());
}

void plans(const Module& model) {
  CostTree tree = cost_tree(model);  // bytes of parameters, module by module
  set_times(tree);
  for (const std::string name : {"count", "parameters", "time", "sagemaker"})
    show(name, partition_by(name, tree, 3));
  show("names", partition_by("names", tree, 2,
                             {.names = {{"transformer.h.[3-5]", 1}, {"*.ln_f", 1}, {"lm_head", 1}}}));
  show("pipedream", partition_by("pipedream", tree, 6, {.replicas = 6, .bandwidth = 1e9}));
}

/// The same with times of this machine, on which all workers agree.
void by_measured_time(models::MinGpt& model, const Partition& mesh) {
  model.initialise(1, at::kFloat);
  Vector ids = distribute(model.tokens().with_shape({2, 64}), at::arange(128, at::kLong).view({2, 64}));
  Vector next = distribute(model.targets().with_shape({2, 64}), at::arange(1, 129, at::kLong).view({2, 64}));
  auto micro_batch = [&] {
    Chain chain;
    backward(cross_entropy(model(ids), next).mean());
  };
  CostTree tree = measured(model, micro_batch, mesh);
  StagePlan plan = partition_by("time", tree, 3);
  if (mesh.rank() == 0) std::fprintf(stderr, "%s", to_string(plan).c_str());
}

int work(int, char**) {
  Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  models::MinGpt model(spaces::one_d(mesh), config);
  if (Runtime::rank() == 0) plans(model);
  by_measured_time(model, mesh);
  return 0;
}

int main(int argc, char** argv) { return run_main(argc, argv, work); }
