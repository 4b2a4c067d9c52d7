// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop.h"

#include <chrono>
#include <cmath>
#include <limits>

#include "riesz/comm/board.h"
#include "riesz/comm/error.h"
#include "riesz/nn/cross_entropy.h"
#include "riesz/optim/adamw.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

AdamWOptions options(const Config::Train& config) {
  return {.learning_rate = config.learning_rate,
          .beta1 = config.beta1,
          .beta2 = config.beta2,
          .weight_decay = config.weight_decay};
}

/// The mean loss of a batch, its gradients left at the parameters.
double loss_and_gradients(const LanguageModel& model, const Batch& batch) {
  Chain chain;
  const Vector logits = model.logits(lay_out(model.tokens, batch.ids));
  const Loss loss = cross_entropy(logits, lay_out(model.targets, batch.targets));
  const Vector mean = (1.0 / static_cast<double>(loss.count)) * loss.sum;
  backward(mean);
  return mean.local().item<double>();
}

std::map<std::string, Traffic> difference(std::map<std::string, Traffic> after,
                                          const std::map<std::string, Traffic>& before) {
  for (const auto& [operation, traffic] : before) after[operation] = after[operation] - traffic;
  std::erase_if(after, [](const auto& entry) { return entry.second == Traffic{}; });
  return after;
}

}  // namespace

Trained train(const Config::Train& config, const LanguageModel& model, const Task& task,
              const OnStep& on_step) {
  const std::vector<Parameter> parameters = model.module.parameters();
  const double greatest_norm = config.clip > 0 ? config.clip : std::numeric_limits<double>::infinity();
  const auto tokens = static_cast<double>(config.batch * task.length());
  AdamW optimizer(parameters, options(config));
  Trained trained;
  const Clock::time_point start = Clock::now();
  for (std::int64_t step = 0; step < config.steps; ++step) {
    const std::map<std::string, Traffic> before = Counters::instance().by_operation();
    const Clock::time_point begin = Clock::now();
    Board::note("step " + std::to_string(step + 1));
    model.module.set_step(step);
    Row row;
    row.step = step + 1;
    row.loss = loss_and_gradients(model, task.batch(step, config.batch));
    RIESZ_CHECK(std::isfinite(row.loss), "the loss of step ", row.step, " is ", row.loss,
                "; lower train.learning_rate, lengthen train.warm_up, or set train.clip");
    row.gradient_norm = clip_gradients(parameters, greatest_norm);
    row.learning_rate =
        warm_up_cosine(step, config.warm_up, config.steps, config.learning_rate, config.floor);
    optimizer.set_learning_rate(row.learning_rate);
    optimizer.step();
    optimizer.zero_gradients();
    const double took = seconds_since(begin);
    trained.seconds += took;
    row.tokens_per_second = tokens / took;
    trained.traffic = difference(Counters::instance().by_operation(), before);
    if (row.step % config.eval_every == 0 || row.step == config.steps) {
      row.held_out_loss = held_out_loss(model, task, config.eval_size, config.batch);
    }
    row.seconds = seconds_since(start);
    trained.rows.push_back(row);
    on_step(row);
  }
  return trained;
}

}  // namespace riesz
