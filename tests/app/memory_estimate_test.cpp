// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// What is said to be needed beside what training's state, and the allocator, say is held.
#include "riesz/app/memory/memory_estimate.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/app/models/model.h"
#include "riesz/app/models/model_sizes.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/placement.h"
#include "riesz/train/loop/step.h"

namespace riesz::testing {
namespace {

using app::estimate_memory;
using app::MemoryEstimate;

/// Of a model whose activations are many times its ids, on all workers by the layout.
Config sized(const std::string& tensor, const std::string& sequence = "none") {
  Config config;
  config.layout.tensor = tensor;
  config.layout.sequence = sequence;
  (sequence == "none" ? config.layout.tp : config.layout.sp) = Runtime::size();
  config.model.layers = 3;
  config.model.heads = 4;
  config.model.width = 64;
  config.model.context = 32;
  config.data.digits = 3;
  config.train.batch = 48;
  return config;
}

Partition mesh_of(const Config& config) { return Partition::world().grid(job_axes(config.layout)); }

/// Of half as many heads of keys.
Config llama(Config config) {
  config.model.kind = "llama";
  config.model.activation = "silu";
  config.model.key_value_heads = 2;
  config.model.hidden = 96;
  config.model.tied = true;
  return config;
}

/// With experts in the place of the MLP.
Config mixtral(Config config) {
  config = llama(std::move(config));
  config.model.kind = "mixtral";
  config.model.experts = 3;
  return config;
}

/// Layouts that this number of workers makes; of 8, those that fewer do not make.
std::vector<std::pair<std::string, Config>> configurations() {
  if (Runtime::size() == 8) return {{"2.5d", sized("2.5d")}, {"3d", sized("3d")}};
  std::vector<std::pair<std::string, Config>> all{{"1d", sized("1d")},
                                                  {"sp", sized("sp")},
                                                  {"ring", sized("1d", "ring")},
                                                  {"ulysses", sized("1d", "ulysses")}};
  if (Runtime::size() == 4) all.emplace_back("2d", sized("2d"));
  all.emplace_back("micro-batches", sized("1d")).second.train.micro_batches = 2;
  all.emplace_back("computed in bf16", sized("sp")).second.compute = "bf16";
  all.emplace_back("dropout", sized("1d")).second.model.dropout = 0.1;
  all.emplace_back("blocks run again", sized("1d")).second.layout.recompute = "blocks";
  all.emplace_back("GPT-J", sized("1d")).second.model.kind = "gptj";
  all.emplace_back("Llama", llama(sized("sp")));
  all.emplace_back("Mixtral", mixtral(sized("1d")));
  all.emplace_back("Mixtral in parts of sequences", mixtral(sized("sp")));
  all.emplace_back("GPT-2 with experts", sized("1d")).second.model.kind = "gpt2_moe";
  const auto frozen = [&](const char* name, Config config, const char* patterns) {
    config.train.frozen = patterns;
    all.emplace_back(concat(name, " frozen"), std::move(config));
  };
  frozen("what is below", sized("sp"), "transformer.w?e transformer.h.[0-1]");
  frozen("all but the queries", sized("1d"),
         "transformer.w?e transformer.h.*.ln_? transformer.h.*.mlp transformer.h.*.attn.c_proj lm_head "
         "transformer.ln_f");
  frozen("attention and norms", llama(sized("1d")),
         "model.embed_tokens model.layers.*.*norm model.layers.*.*attn");
  frozen("the ways up", llama(sized("sp")), "model.embed_tokens model.layers.*.mlp.*p_proj");
  return all;
}

/// What the second step of a training allocates beside its state: the most, with gradients, and what is there
/// between forward and backward of a micro-batch.
struct Allocated {
  explicit Allocated(const Config& config) {
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    const Learner& whole = model.learner;
    TrainingStep step(config, whole);
    step(0, task->batch(0, config.train.batch));
    finish_background();
    const MemoryMeter meter;
    step(1, task->batch(config.train.batch, config.train.batch));
    most = static_cast<double>(MemoryMeter::peak());
    finish_background();
    const std::int64_t rows = config.train.batch / micro_batches_of(config);
    const Batch batch = task->batch(2 * config.train.batch, rows);
    MemoryMeter::restart();
    const std::int64_t before = MemoryMeter::alive();
    const ContextScope training({.training = true, .rows = rows});
    Chain chain;
    const Vector loss = loss_of(whole, batch).sum;
    finish_background();
    kept = static_cast<double>(MemoryMeter::alive() - before);
  }
  double most, kept;
};

TEST(MemoryEstimate, OfAStepIsAlmostWhatIsAllocated) {
  for (const auto& [name, config] : configurations()) {
    SCOPED_TRACE(name);
    const MemoryEstimate said = estimate_memory(config, mesh_of(config));
    const Allocated is(config);
    if (Runtime::rank() > 0) continue;
    if (config.layout.recompute == "none") {
      EXPECT_NEAR(is.kept / (said.activations + said.logits), 1, 0.08);  // most where heads are uneven
    }
    EXPECT_GT(is.most, said.activations + said.logits);  // what is refused could not have been
    const bool matrices = config.layout.tensor.ends_with("d") && config.layout.tensor != "1d";
    const double lasting = said.activations + said.logits + said.gradients;
    EXPECT_LT(is.most, 1.15 * (lasting + said.momentary));
    if (config.train.frozen.empty()) {
      EXPECT_LT(is.most, (matrices ? 1.75 : 1.4) * lasting);
    }
  }
}

/// A held-out loss goes through a pipeline in micro-batches, so it takes no more than they do.
TEST(MemoryEstimate, OfAPipelineIsNoMoreThanIsAllocated) {
  if (Runtime::size() != 2) return;
  Config config = sized("1d");
  config.layout.tp = 1, config.layout.pp = 2;
  config.model.layers = 2;
  config.train.micro_batches = 8;
  const auto task = make_task(config);
  const app::HeldModel model = app::make_model(config, *task);
  TrainingStep step(config, model.learner);
  const auto step_and_measurement = [&](std::int64_t number) {
    step(number, task->batch(number * config.train.batch, config.train.batch));
    held_out_loss(model.learner, *task, config.train.batch, config.train.batch, step.pipeline());
    finish_background();
  };
  step_and_measurement(0);
  const MemoryMeter meter;
  step_and_measurement(1);
  const at::Tensor here = at::tensor({MemoryMeter::peak()}, at::kLong);
  const auto most = all_max(mesh_of(config), {"pp"}, here).item<std::int64_t>();
  const MemoryEstimate said = estimate_memory(config, mesh_of(config));
  EXPECT_GT(static_cast<double>(most), said.activations + said.under_way + said.logits);
}

Config shared(std::int64_t stage, const std::string& precision, const std::string& optimizer) {
  Config config = sized("1d");
  config.layout.dp = Runtime::size();
  config.layout.tp = 1;
  config.layout.zero = stage;
  config.precision = precision;
  config.optimizer.kind = optimizer;
  config.checkpoint.every = 1;
  if (Runtime::size() == 8)
    config.model.width = 128;  // so an eighth of a matrix is above the least that one writes
  return config;
}

/// Bytes that this worker copies to write a checkpoint.
std::int64_t copied(const Config& config, const State& state, const Module& model) {
  const SharedFolder folder;
  BackgroundSave save(folder.path() / "x", mesh_of(config),
                      {state, published_shapes(model.parameters()), {}});
  save.wait();
  return save.bytes();
}

TEST(MemoryEstimate, OfTheStateIsWhatIsHeld) {
  const std::array<const char*, 3> kinds{"adamw", "sgd", "adafactor"};
  const std::array<const char*, 5> model_kinds{"gpt2", "llama", "mixtral", "gptj", "gpt2_moe"};
  auto next = static_cast<std::size_t>(Runtime::size());  // each number of workers begins with another
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    for (const char* precision : {"fp32", "bf16"}) {
      if (Runtime::size() == 8 && (precision[0] == 'f') == (stage % 2 == 0)) continue;  // as all others have
      const char* kind = kinds[next++ % kinds.size()];
      SCOPED_TRACE(
          concat("stage ", stage, ", ", precision, ", ", kind, ", ", model_kinds[next % model_kinds.size()]));
      const std::string of = model_kinds[next % model_kinds.size()];
      const auto of_kind = [&](Config any) {
        any.model.kind = of;
        return of == "llama" ? llama(any) : of == "mixtral" ? mixtral(any) : any;
      };
      const Config config = of_kind(shared(stage, precision, kind));
      const auto task = make_task(config);
      const app::HeldModel model = app::make_model(config, *task);
      const Learner& whole = model.learner;
      TrainingStep step(config, whole);
      const Memory is = step.memory();
      const MemoryEstimate said = estimate_memory(config, mesh_of(config));
      const double bound =
          0.01 * estimate_memory(of_kind(shared(0, "fp32", kind)), mesh_of(config)).parameters;
      const auto near = [&](double a, std::int64_t b) { EXPECT_NEAR(a, static_cast<double>(b), bound); };
      near(said.parameters, is.model.parameters);
      near(said.gradients, is.model.gradients);
      near(said.optimizer, is.optimizer + is.model.masters);
      near(said.passing(), is.model.passing);
      const std::int64_t copy = copied(config, step.state(), model.module());
      if (Runtime::rank() > 0) continue;
      EXPECT_NEAR(said.checkpoint / static_cast<double>(copy), 1,
                  0.15);  // vectors are much of so small a model
    }
  }
}

/// The optimizer's state is on the disk, and a few pages of it in memory.
TEST(MemoryEstimate, OfStateOnADiskIsByPlace) {
  const SharedFolder folder;
  for (const char* kind : {"adamw", "sgd"}) {
    Config config = shared(1, "bf16", kind);
    const MemoryEstimate in_memory = estimate_memory(config, mesh_of(config));
    config.offload = {.state = "disk", .path = folder.path().string(), .depth = 1};
    if (kind[0] == 'a') config.offload.masters = "disk";
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    TrainingStep step(config, model.learner);
    const Memory is = step.memory();
    const MemoryEstimate said = estimate_memory(config, mesh_of(config));
    const double bound = 0.01 * said.parameters + 3 * 4096;
    EXPECT_NEAR(said.elsewhere, static_cast<double>(is.optimizer_elsewhere), bound);
    EXPECT_NEAR(said.optimizer, static_cast<double>(is.optimizer + is.model.masters), bound);

    config.model.width = 2048;  // now its pages are few beside the whole
    const double pages = (kind[0] == 's' ? 1 : 3) * 3 * double{1 << 22};
    const MemoryEstimate large = estimate_memory(config, mesh_of(config));
    config.offload = {};
    const MemoryEstimate whole = estimate_memory(config, mesh_of(config));
    EXPECT_EQ(whole.elsewhere + in_memory.elsewhere, 0);
    const double copied = whole.checkpoint - large.checkpoint;
    EXPECT_NEAR(whole.all() - large.all() - copied, large.elsewhere - pages, 1) << kind;
    EXPECT_GT(copied, 0.5 * whole.checkpoint);  // with state elsewhere of values alone
  }
}

/// Experts are shared out by the workers that have the same ones, everything else by all.
TEST(MemoryEstimate, OfExpertsApartIsWhatIsHeld) {
  const int p = Runtime::size();
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    for (const char* like : {"dp", "tp"}) {
      SCOPED_TRACE(concat("stage ", stage, ", as ", like));
      const auto of_stage = [&](std::int64_t zero) {
        Config config = mixtral(shared(zero, zero % 2 == 0 ? "fp32" : "bf16", "adamw"));
        config.layout.dp = p % 2 == 0 ? 2 : 1;
        config.layout.ep = p / config.layout.dp;
        config.layout.experts = like;
        config.model.experts = p == 8 ? 2 : 2 * config.layout.ep;  // of 8 workers two share an expert
        return config;
      };
      const Config config = of_stage(stage);
      const auto task = make_task(config);
      const app::HeldModel model = app::make_model(config, *task);
      TrainingStep step(config, model.learner);
      const Memory is = step.memory();
      const MemoryEstimate said = estimate_memory(config, mesh_of(config));
      const double bound = 0.01 * estimate_memory(of_stage(0), mesh_of(config)).parameters;
      // Heads do not divide by 3, so the first worker of tp holds most, which is what is estimated.
      const bool first = config.layout.experts == "dp" || Runtime::rank() == 0;
      const auto near = [&](double a, std::int64_t b) {
        EXPECT_NEAR(a, std::max(static_cast<double>(b), first ? 0 : a), bound);
      };
      near(said.parameters, is.model.parameters);
      near(said.gradients, is.model.gradients);
      near(said.optimizer, is.optimizer + is.model.masters);
      // Where each token chooses all experts, the worst routing is the only one.
      const bool chooses = config.model.experts > config.model.experts_per_token;
      EXPECT_EQ(said.at_worst > 0, config.layout.ep > 1 && chooses);
      const std::int64_t copy = copied(config, step.state(), model.module());
      if (Runtime::rank() > 0) continue;
      EXPECT_NEAR(said.checkpoint / static_cast<double>(copy), 1, 0.15);
    }
  }
}

/// Rows of experts as expected, and all that come at worst: of 4 sequences of 8 tokens on 2 workers.
TEST(MemoryEstimate, OfExpertsIsOfRowsThatAreExpected) {
  models::MixtralConfig config;
  config.heads = 4, config.key_value_heads = 4, config.width = 8, config.hidden = 10;
  config.experts = 4, config.experts_per_token = 2;
  for (const char* like : {"dp", "tp"}) {
    const Partition grid = Partition::simulated(2).grid({{"dp", 1}, {"tp", 1}, {"ep", 2}});
    app::ModelSizes sizes(models::CausalConfig(config), spaces::with_experts(spaces::one_d(grid), like));
    const double expected = sizes.kept(4, 8).computed;
    sizes.count_most_rows();
    const double rows = 32 * 2 - 32;  // all choices of all tokens, and half of them
    EXPECT_EQ(sizes.kept(4, 8).computed - expected, rows * (2 * 8 + 3 * 10)) << like;
  }
}

/// An expert takes 16, 24 or all choices of 32 tokens. A measurement drops none.
TEST(MemoryEstimate, OfExpertsWithACapacityIsOfRowsThatTheyTake) {
  const Partition grid = Partition::simulated(2).grid({{"dp", 1}, {"tp", 1}, {"ep", 2}});
  const auto more_at_worst = [&](double factor, bool measured) {
    models::Gpt2MoeConfig config;
    config.heads = 4, config.width = 8, config.hidden = 10;
    config.experts = 4, config.experts_per_token = 2, config.capacity_factor = factor;
    app::ModelSizes sizes(models::CausalConfig(config), spaces::with_experts(spaces::one_d(grid), "dp"));
    const double expected = sizes.kept(4, 8).computed;
    sizes.count_most_rows();
    if (measured) sizes.count_measured_rows();
    return sizes.kept(4, 8).computed - expected;
  };
  const double all = more_at_worst(0, false);  // 64 rows, and 32 of them expected
  EXPECT_GT(all, 0);
  EXPECT_EQ(more_at_worst(1, false), 0);
  EXPECT_EQ(more_at_worst(1.5, false), all / 2);
  EXPECT_EQ(more_at_worst(1, true), all);
}

/// A frozen parameter has its value alone, whole on each worker of dp.
TEST(MemoryEstimate, OfAStateWithFrozenPartsIsWhatIsHeld) {
  const std::array<std::pair<const char*, const char*>, 3> parts{
      std::pair("gpt2", "transformer.w?e transformer.h.[0-1]"),
      {"gptj", "transformer.h.*.attn transformer.ln_f lm_head.bias"},
      {"llama", "model.layers.*.mlp.down_proj model.layers.1.*norm"}};
  for (const std::int64_t stage : {0, 1, 2, 3}) {
    const auto& [kind, frozen] = parts[static_cast<std::size_t>(stage + Runtime::size()) % parts.size()];
    const char* optimizer = stage % 2 == 0 ? "adamw" : "adafactor";
    SCOPED_TRACE(concat("stage ", stage, ", ", kind, ", ", optimizer));
    const auto of_kind = [kind = kind](Config any) {
      any.model.kind = kind;
      return any.model.kind == "llama" ? llama(any) : any;
    };
    Config config = of_kind(shared(stage, stage < 2 ? "fp32" : "bf16", optimizer));
    const double bound =
        0.01 * estimate_memory(of_kind(shared(0, "fp32", optimizer)), mesh_of(config)).parameters;
    config.train.frozen = frozen;
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    TrainingStep step(config, model.learner);
    const Memory is = step.memory();
    const MemoryEstimate said = estimate_memory(config, mesh_of(config));
    const auto near = [&](double a, std::int64_t b) { EXPECT_NEAR(a, static_cast<double>(b), bound); };
    EXPECT_GT(is.untrained, 0);
    near(said.parameters, is.model.parameters + is.untrained);
    near(said.gradients, is.model.gradients);
    near(said.optimizer, is.optimizer + is.model.masters);
    near(said.passing(), is.model.passing);
    const std::int64_t copy = copied(config, step.state(), model.module());
    if (Runtime::rank() > 0) continue;
    EXPECT_NEAR(said.checkpoint / static_cast<double>(copy), 1, 0.15);
  }
}

/// One axis shards the heads of keys; on another they are copied, for splits that overlap do not nest.
TEST(ModelSizes, HaveTheHeadsOfKeysWhereTheModelHasThem) {
  const Partition mesh = Partition::simulated(4).grid({{"sp", 2}, {"tp", 2}});
  models::LlamaConfig config;
  config.heads = 8, config.key_value_heads = 4, config.width = 64;
  const app::ModelSizes sizes(models::CausalConfig(config), spaces::ulysses(mesh));
  const Space found = sizes.spaces().attending("btgd");
  const Space expected = ModelSpaces(spaces::ulysses(mesh), config.roles()).attending("btgd");
  for (const Axis& axis : mesh.axes())
    EXPECT_EQ(found.placement(axis.name), expected.placement(axis.name)) << axis.name;
}

/// Its errors, which no stage shares out, and in stage 1 all momenta.
TEST(MemoryEstimate, OfOneBitAdamIsWhatIsHeld) {
  for (const std::int64_t stage : {0, 1}) {
    SCOPED_TRACE(stage);
    const Config config = shared(stage, "fp32", "one_bit_adam");
    const auto task = make_task(config);
    const app::HeldModel model = app::make_model(config, *task);
    TrainingStep step(config, model.learner);
    const MemoryEstimate said = estimate_memory(config, mesh_of(config));
    EXPECT_NEAR(said.optimizer / static_cast<double>(step.memory().optimizer), 1, 0.01);
    const std::int64_t copy = copied(config, step.state(), model.module());
    if (Runtime::rank() > 0) continue;
    EXPECT_NEAR(said.checkpoint / static_cast<double>(copy), 1, 0.15);
  }
}

}  // namespace
}  // namespace riesz::testing
