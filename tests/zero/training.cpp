// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "training.h"

#include <ATen/ops/empty.h>

#include "riesz/comm/runtime.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/module.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/tokens.h"

namespace riesz::testing {
namespace {

constexpr std::uint64_t kSeed = 7;

TokenDraws draws(const Course& course) {
  return {kSeed, course.batch, course.config.context, course.config.vocabulary};
}

}  // namespace

at::Tensor ids_of(const Course& course, int step) { return drawn_ids(draws(course), step); }

at::Tensor targets_of(const Course& course, int step) { return drawn_targets(draws(course), step); }

double accumulate(const Course& course, models::MinGpt& model, Zero* zero, int step) {
  const at::Tensor ids = ids_of(course, step).to(course.device);
  const at::Tensor targets = targets_of(course, step).to(course.device);
  const auto count = static_cast<double>(targets.ge(0).sum().item<std::int64_t>());
  const Split split = Split::balanced(course.batch, static_cast<int>(course.micro_batches));
  double sum = 0;
  for (std::int64_t i = 0; i < course.micro_batches; ++i) {
    if (zero != nullptr) zero->begin(i, course.micro_batches);
    const Interval some = split[static_cast<int>(i)];
    const ContextScope scope(
        {.training = true, .seed = kSeed, .step = step, .first_row = some.begin, .rows = course.batch});
    Chain chain;
    const Vector logits = model(on(model.tokens(), ids.narrow(0, some.begin, some.size())));
    const Loss loss = cross_entropy(logits, on(model.targets(), targets.narrow(0, some.begin, some.size())));
    backward((course.scale / count) * loss.sum);
    sum += loss.sum.local().item<double>() / count;
  }
  return sum;
}

TrainingRun train(const Course& course, const Layout& spaces) {
  models::MinGpt model(spaces, course.config);
  model.initialise(kSeed, course.type, course.device);
  set_recompute(model, course.recompute);
  TrainingRun run;
  run.add_initial(model);
  std::optional<Zero> zero;
  if (course.zero) zero.emplace(model.parameters(), *course.zero);
  const auto optimizer = course.optimizer(zero ? zero->store() : whole(model.parameters()));
  for (int step = 0; step < course.steps; ++step) {
    if (zero && course.zero->stage <= 1) zero->set_reducing(optimizer->wants_reduced_gradients());
    const double loss = accumulate(course, model, zero ? &*zero : nullptr, step);
    run.results["loss of step " + std::to_string(step)] = at::empty({}, at::kDouble).fill_(loss);
    if (step == 0) run.add_gradients(model);
    optimizer->step();
    optimizer->zero_gradients();
  }
  run.add_weights(model);
  for (auto* tensors : {&run.initial, &run.results}) {
    for (auto& [name, tensor] : *tensors) tensor = tensor.cpu();
  }
  return run;
}

const std::vector<std::pair<std::string, MakeOptimizer>>& some_optimizers() {
  constexpr double epsilon = 1e-6;  // a key bias's true gradient is zero: a smaller one blows up its rounding
  using Made = std::unique_ptr<Optimizer>;
  static const std::vector<std::pair<std::string, MakeOptimizer>> all{
      {"SGD",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<SGD>(std::move(store),
                                      SGDOptions{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.1});
       }},
      {"AdamW",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<AdamW>(
             std::move(store), AdamWOptions{.learning_rate = 1e-2, .epsilon = epsilon, .weight_decay = 0.1});
       }},
      {"LAMB",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<Lamb>(
             std::move(store), LambOptions{.learning_rate = 1e-2, .epsilon = epsilon, .weight_decay = 0.1});
       }},
      {"Adafactor",
       [](std::shared_ptr<Store> store) -> Made {
         return std::make_unique<Adafactor>(
             std::move(store),
             AdafactorOptions{.learning_rate = 1e-2, .epsilon1 = epsilon, .weight_decay = 0.1});
       }},
  };
  return all;
}

MakeOptimizer one_bit_adam() {
  return [](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
    return std::make_unique<OneBitAdam>(std::move(store), data_parallel().along("dp"),
                                        OneBitAdamOptions{.learning_rate = 1e-2, .freeze_step = 1});
  };
}

Partition data_parallel() { return Partition::world().grid({{"dp", Runtime::size()}, {"tp", 1}}); }

std::vector<Partition> dp_tp_meshes() {
  std::vector<Partition> meshes;
  for (const int tp : {1, 2}) {
    if (Runtime::size() % tp == 0)
      meshes.push_back(Partition::world().grid({{"dp", Runtime::size() / tp}, {"tp", tp}}));
  }
  return meshes;
}

Partition one_worker() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}); }

}  // namespace riesz::testing
