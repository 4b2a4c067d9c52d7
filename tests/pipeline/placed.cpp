// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "placed.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/random/random.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/chain.h"
#include "riesz/zero/zero.h"

namespace riesz::testing {
namespace {

constexpr std::uint64_t kSeed = 7;

at::Tensor draws(const PlacedCourse& course, const std::string& name, int step) {
  at::Tensor ids = at::empty({course.batch, course.config.context}, at::kLong);
  auto* data = ids.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    const auto word =
        philox(philox_key(kSeed, name), static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(step))[0];
    data[i] = word % course.config.vocabulary;
  }
  return ids;
}

Vector on(const Space& X, const at::Tensor& global) {
  return distribute(X.with_shape(global.sizes().vec()), global);
}

/// The loss of micro-batch i of a step.
Vector loss_of(const PlacedCourse& course, models::MinGpt& model, int step, std::int64_t i) {
  const at::Tensor ids = draws(course, "ids", step);
  at::Tensor targets = draws(course, "targets", step);
  targets.view({-1}).slice(0, 0, std::nullopt, 5).fill_(-1);
  const auto count = static_cast<double>(targets.ge(0).sum().item<std::int64_t>());
  const Interval some = Split::balanced(course.batch, course.micro_batches)[static_cast<int>(i)];
  const ContextScope scope(
      {.training = true, .seed = kSeed, .step = step, .first_row = some.begin, .rows = course.batch});
  const Vector logits = model(on(model.tokens(), ids.narrow(0, some.begin, some.size())));
  return (1 / count) *
         cross_entropy(logits, on(model.targets(), targets.narrow(0, some.begin, some.size()))).sum;
}

/// Parameters of each chunk, or of all where there is one.
std::vector<std::vector<Parameter>> by_chunk(const Module& model) {
  if (model.stages() == nullptr) return {model.parameters()};
  std::vector<std::vector<Parameter>> all(static_cast<std::size_t>(model.stages()->size()));
  for (const Parameter& parameter : model.parameters())
    all[static_cast<std::size_t>(model.stages()->named(parameter.name()).value_or(0))].push_back(parameter);
  std::erase_if(all, [](const auto& each) { return each.empty(); });
  return all;
}

/// Each chunk's ZeRO, if there is one, and the store of all.
struct State {
  State(const PlacedCourse& course, const Module& model) : lent(!model.lent().empty()) {
    std::vector<std::shared_ptr<Store>> stores;
    for (const std::vector<Parameter>& parameters : by_chunk(model)) {
      if (course.zero) zeros.emplace_back(parameters, ZeroOptions{.stage = *course.zero});
      stores.push_back(course.zero ? zeros.back().store() : whole(parameters));
    }
    store = several(stores);
  }

  /// A parameter that is lent has a pass more, which brings what came where it was used.
  void begin(std::int64_t i, std::int64_t of) {
    const std::int64_t more = lent ? 1 : 0;
    for (Zero& zero : zeros) {
      if (i == 0 && lent) zero.begin(of, of + more);
      zero.begin(i, of + more);
    }
  }

  bool lent;
  std::deque<Zero> zeros;
  std::shared_ptr<Store> store;
};

using Step = std::function<std::vector<double>(int step, State& state)>;

TrainingRun train(const PlacedCourse& course, const Partition& all, models::MinGpt& model,
                  const Step& losses) {
  TrainingRun run;
  const auto keep = [&](std::map<std::string, at::Tensor>& tensors, const std::string& prefix,
                        const auto& of) {
    for (const Parameter& parameter : model.parameters())
      tensors[prefix + parameter.name()] = known_to_all(all, of(parameter));
  };
  model.initialise(kSeed, at::kDouble);
  const auto value = [](const Parameter& parameter) { return parameter.get(); };
  keep(run.initial, "", value);
  State state(course, model);
  AdamW optimizer(state.store, {.learning_rate = 1e-2, .epsilon = 1e-6, .weight_decay = 0.1});
  for (int step = 0; step < course.steps; ++step) {
    const std::vector<double> now = losses(step, state);
    run.results["losses of step " + std::to_string(step)] = at::tensor(now, at::kDouble);
    if (step == 0) keep(run.results, "gradient of ", [](const Parameter& p) { return p.gradient(); });
    optimizer.step();
    optimizer.zero_gradients();
  }
  keep(run.results, "after training ", value);
  return run;
}

}  // namespace

at::Tensor known_to_all(const Partition& all, const Vector& x) {
  const at::NoGradGuard no_gradient;
  return between(x.space(), Space(all, x.space().shape()))({x.space(), x.local().detach()}).local().clone();
}

Stages stages_of(const PlacedCourse& course, const Partition& mesh) {
  const int n = course.pp * course.chunks;
  const bool v_shaped =
      course.schedule == "zb_v" || course.schedule == "v_half" || course.schedule == "v_min";
  const std::vector<int> worker_of = riesz::v_shaped(course.pp);
  std::vector<Layout> layouts;
  for (int chunk = 0; chunk < n; ++chunk) {
    const int worker = v_shaped ? worker_of[static_cast<std::size_t>(chunk)] : chunk % course.pp;
    layouts.push_back(spaces::one_d(mesh.at("pp", worker)));
  }
  std::map<std::string, int> stage_of{{"transformer.ln_f", n - 1}, {"lm_head", n - 1}};
  const Split blocks = Split::balanced(course.config.layers, n);
  for (int chunk = 0; chunk < n; ++chunk) {
    for (std::int64_t i = blocks[chunk].begin; i < blocks[chunk].end; ++i)
      stage_of["transformer.h." + std::to_string(i)] = chunk;
  }
  return Stages(layouts, course.config.roles(), stage_of);
}

TrainingRun train_placed(const PlacedCourse& course) {
  const Partition all = Partition::world();
  const Stages stages =
      stages_of(course, all.grid({{"pp", course.pp}, {"dp", course.dp}, {"tp", course.tp}}));
  models::MinGpt model(stages, course.config);
  const Pipeline pipeline(model,
                          make_schedule(course.schedule, {.stages = course.pp,
                                                          .micro_batches = course.micro_batches,
                                                          .chunks = course.chunks > 1 ? course.chunks : 0}));
  return train(course, all, model, [&](int step, State& state) {
    return pipeline.train([&](std::int64_t i) {
      state.begin(i, course.micro_batches);
      return loss_of(course, model, step, i);
    });
  });
}

TrainingRun train_alone(const PlacedCourse& course) {
  const Partition alone = Partition::world().subset({Runtime::rank()});
  models::MinGpt model(spaces::one_d(alone.grid({{"dp", 1}, {"tp", 1}})), course.config);
  return train(course, alone, model, [&](int step, State&) {
    std::vector<double> losses;
    for (int i = 0; i < course.micro_batches; ++i) {
      const Chain chain;
      const Vector loss = loss_of(course, model, step, i);
      losses.push_back(loss.local().item<double>());
      backward(loss);
    }
    return losses;
  });
}

}  // namespace riesz::testing
