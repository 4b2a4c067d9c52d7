// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/learner.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include <algorithm>
#include <vector>

#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"

namespace riesz {
namespace {

/// As the model is used after training: nothing drops, nothing is recorded.
struct Evaluating {
  ContextScope scope{Context{.training = false}};
  at::NoGradGuard no_grad;
};

/// Where the model computes.
at::Device device_of(const Learner& model) {
  const std::vector<Parameter> parameters = model.module.parameters();
  return parameters.empty() ? at::Device(at::kCPU) : parameters.front().device();
}

/// A tensor of the host there. Nothing waits for it: it goes from pinned memory.
at::Tensor sent(const at::Tensor& x, at::Device device) {
  if (device.is_cpu() || !x.is_cpu()) return x;
  return x.contiguous().pin_memory().to(device, /*non_blocking=*/true);
}

/// The constant vector of X, with the extents of a tensor that all workers have; where the model computes.
Vector lay_out(const Learner& model, const Space& X, const at::Tensor& global) {
  const Vector here = distribute(X.with_shape(global.sizes().vec()), global);
  return {here.space(), sent(here.local(), device_of(model)), true};
}

Predictions predictions_of(const Learner& model, const at::Tensor& inputs) {
  return model.logits(lay_out(model, model.inputs, model.reads ? model.reads(inputs) : inputs));
}

Loss cross_entropy_of(const Learner& model, const Vector& logits, const at::Tensor& targets) {
  const LayerScope layer("loss");
  return cross_entropy(logits, lay_out(model, model.targets, targets));
}

/// What `call` gives of all rows at once, or with a pipeline of each part of them, joined by rows.
at::Tensor in_parts(const Pipeline* pipeline, std::int64_t rows,
                    const std::function<at::Tensor(const Interval& rows)>& call) {
  const Evaluating evaluating;
  if (pipeline == nullptr || rows < 2) return call({0, rows});
  const Split parts = Split::balanced(rows, pipeline->schedule().micro_batches);
  std::vector<at::Tensor> results(static_cast<std::size_t>(std::min<std::int64_t>(rows, parts.workers())));
  pipeline->evaluate([&](std::int64_t i) {
    const auto number = static_cast<std::size_t>(i);
    if (number < results.size()) results[number] = call(parts[static_cast<int>(i)]);
  });
  return at::cat(results);
}

}  // namespace

std::int64_t count_targets(const Batch& batch) {
  return host_value(batch.targets.ne(CrossEntropyOptions{}.ignore).sum(), batch.targets.numel());
}

Loss loss_of(const Learner& model, const Batch& batch) {
  return cross_entropy_of(model, predictions_of(model, batch.inputs).logits, batch.targets);
}

Vector training_loss(const Learner& model, const Batch& batch, double times) {
  const Predictions given = predictions_of(model, batch.inputs);
  const Vector sum = cross_entropy_of(model, given.logits, batch.targets).sum;
  return given.loss ? sum + times * *given.loss : sum;
}

at::Tensor predict(const Learner& model, const at::Tensor& inputs, const Pipeline* pipeline) {
  const at::Tensor all = in_parts(pipeline, inputs.size(0), [&](const Interval& rows) {
    Vector logits = predictions_of(model, inputs.narrow(0, rows.begin, rows.size())).logits;
    while (logits.space().dims() > 2) logits = select(logits, 1, logits.space().shape()[1] - 1);
    return known_everywhere(model.module, logits);
  });
  const at::Tensor here = all.cpu();
  settle_late_checks();
  return here;
}

double held_out_loss(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once,
                     const Pipeline* pipeline) {
  const std::int64_t end = std::min(rows, task.held_out());
  double sum = 0;
  at::Tensor there;  // on a device, read once
  std::int64_t count = 0;
  for (std::int64_t from = 0; from < end; from += at_once) {
    const Batch batch = task.held_out(from, std::min(end, from + at_once));
    const at::Tensor sums = in_parts(pipeline, batch.rows(), [&](const Interval& part) {
      return known_everywhere(model.module, loss_of(model, batch.part(part)).sum).reshape({1});
    });
    const at::Tensor of_batch = sums.sum(at::kDouble);
    if (of_batch.is_cpu())
      sum += host_value(of_batch, 0.0);
    else
      there = there.defined() ? there.add(of_batch) : of_batch;
    count += count_targets(batch);
  }
  if (there.defined()) sum = host_value(there, 0.0);
  settle_late_checks();
  return sum / static_cast<double>(count);
}

}  // namespace riesz
