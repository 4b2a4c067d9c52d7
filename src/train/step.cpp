// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/step.h"

#include <limits>

#include "riesz/comm/layer_scope.h"
#include "riesz/nn/cross_entropy.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/schedule.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

AdamWOptions options(const Config::Train& config) {
  return {.learning_rate = config.learning_rate,
          .beta1 = config.beta1,
          .beta2 = config.beta2,
          .weight_decay = config.weight_decay};
}

Vector mean_loss(const Vector& logits, const Vector& targets) {
  const LayerScope layer("loss");
  const Loss loss = cross_entropy(logits, targets);
  return (1.0 / static_cast<double>(loss.count)) * loss.sum;
}

/// The mean loss of a batch, its gradients left at the parameters.
double loss_and_gradients(const LanguageModel& model, const Batch& batch) {
  Chain chain;
  const Vector logits = model.logits(lay_out(model.tokens, batch.ids));
  const Vector mean = mean_loss(logits, lay_out(model.targets, batch.targets));
  backward(mean);
  return mean.local().item<double>();
}

}  // namespace

TrainingStep::TrainingStep(const Config::Train& config, const LanguageModel& model)
    : config_(config),
      model_(model),
      parameters_(model.module.parameters()),
      optimizer_(parameters_, options(config)) {}

TrainingStep::Result TrainingStep::operator()(std::int64_t step, const Batch& batch) {
  const double greatest_norm = config_.clip > 0 ? config_.clip : std::numeric_limits<double>::infinity();
  Result result{};
  model_.module.set_step(step);
  result.loss = loss_and_gradients(model_, batch);
  const LayerScope gradients("gradients", Phase::update);
  result.gradient_norm = clip_gradients(parameters_, greatest_norm);
  result.learning_rate =
      warm_up_cosine(step, config_.warm_up, config_.steps, config_.learning_rate, config_.floor);
  optimizer_.set_learning_rate(result.learning_rate);
  optimizer_.step();
  optimizer_.zero_gradients();
  return result;
}

}  // namespace riesz
