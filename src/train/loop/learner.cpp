// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/loop/learner.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <vector>

#include "riesz/comm/host_value.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/nn/loss/relative_error.h"
#include "riesz/nn/module.h"
#include "riesz/nn/stages/known_everywhere.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/partition/split.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/train/loop/label_overlap.h"

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

/// The constant vector of X of these rows; where the model computes.
Vector lay_out(const Learner& model, const Space& X, const Rows& rows) {
  const Vector here = rows.in(X);
  return {here.space(), sent(here.local(), device_of(model)), true};
}

Predictions predictions_of(const Learner& model, const Rows& inputs) {
  return model.logits(lay_out(model, model.inputs, model.inputs_of ? model.inputs_of(inputs) : inputs));
}

Loss loss_of_logits(const Learner& model, const Vector& logits, const Vector& targets) {
  const LayerScope layer("loss");
  return model.predicted == Predicted::fields ? relative_error(logits, targets)
                                              : cross_entropy(logits, targets);
}

/// (1, n): the sum of the losses of a batch's targets; and of pixels the counts of `label_overlap`.
at::Tensor measured(const Learner& model, const Batch& batch) {
  const Vector logits = predictions_of(model, batch.inputs).logits;
  const Vector targets = lay_out(model, model.targets, batch.targets);
  const at::Tensor loss =
      known_everywhere(model.module, loss_of_logits(model, logits, targets).sum).to(at::kDouble).view({1, 1});
  if (model.predicted != Predicted::pixels) return loss;
  const at::Tensor counts = known_everywhere(model.module, intersection_and_union(logits, targets));
  return at::cat({loss, counts.view({1, -1}).to(loss.device())}, 1);
}

/// What `call` gives of each of so many parts of the rows, or as many as a pipeline's micro-batches, joined
/// by rows.
at::Tensor in_parts(const Pipeline* pipeline, std::int64_t parts, std::int64_t rows,
                    const std::function<at::Tensor(const Interval& rows)>& call) {
  const Evaluating evaluating;
  if (rows < 2) return call({0, rows});
  const auto count = pipeline != nullptr ? pipeline->schedule().micro_batches : static_cast<int>(parts);
  const Split split = Split::balanced(rows, count);
  std::vector<at::Tensor> results(static_cast<std::size_t>(std::min<std::int64_t>(rows, count)));
  const auto part = [&](std::int64_t i) {
    const auto number = static_cast<std::size_t>(i);
    if (number < results.size()) results[number] = call(split[static_cast<int>(i)]);
  };
  if (pipeline != nullptr) {
    pipeline->evaluate(part);
  } else {
    for (std::int64_t i = 0; i < count; ++i) part(i);
  }
  return results.size() == 1 ? results.front() : at::cat(results);
}

}  // namespace

std::int64_t count_targets(const Learner& model, const Batch& batch) {
  if (model.predicted == Predicted::fields) return batch.rows();
  if (batch.targets.is_made()) return batch.targets.numel();
  return host_value(batch.targets.whole().ne(CrossEntropyOptions{}.ignore).sum(), batch.targets.numel());
}

Loss loss_of(const Learner& model, const Batch& batch) {
  const Vector logits = predictions_of(model, batch.inputs).logits;
  return loss_of_logits(model, logits, lay_out(model, model.targets, batch.targets));
}

Vector training_loss(const Learner& model, const Batch& batch, double times) {
  const Predictions given = predictions_of(model, batch.inputs);
  const Vector sum = loss_of_logits(model, given.logits, lay_out(model, model.targets, batch.targets)).sum;
  return given.loss ? sum + times * *given.loss : sum;
}

at::Tensor predict(const Learner& model, const Rows& inputs, const Pipeline* pipeline, std::int64_t parts) {
  const at::Tensor all = in_parts(pipeline, parts, inputs.count(), [&](const Interval& rows) {
    Vector logits = predictions_of(model, inputs.part(rows)).logits;
    while (model.predicted == Predicted::labels && logits.space().dims() > 2)
      logits = select(logits, 1, logits.space().shape()[1] - 1);
    return known_everywhere(model.module, logits);
  });
  const at::Tensor here = all.cpu();
  settle_late_checks();
  return here;
}

Vector evaluated(const Learner& model, const Rows& inputs) {
  const Evaluating evaluating;
  return predictions_of(model, inputs).logits;
}

HeldOut measure_held_out(const Learner& model, const Task& task, std::int64_t rows, std::int64_t at_once,
                         const Pipeline* pipeline, std::int64_t parts) {
  const std::int64_t end = std::min(rows, task.held_out());
  at::Tensor sums;  // where the model computes; on a device it is read once
  std::int64_t count = 0;
  for (std::int64_t from = 0; from < end; from += at_once) {
    const Batch batch = task.held_out(from, std::min(end, from + at_once));
    const at::Tensor of_parts = in_parts(pipeline, parts, batch.rows(), [&](const Interval& part) {
      return measured(model, batch.part(part));
    });
    const at::Tensor of_batch = of_parts.to(at::kDouble).sum(0);
    sums = sums.defined() ? sums.add(of_batch) : of_batch;
    count += count_targets(model, batch);
  }
  const at::Tensor here = sums.defined() ? sums.cpu() : at::zeros({1}, at::kDouble);
  settle_late_checks();
  HeldOut held_out{host_value(here[0], 0.0) / static_cast<double>(count)};
  if (model.predicted == Predicted::pixels) held_out.overlaps = iou_of(here.narrow(0, 1, here.numel() - 1));
  return held_out;
}

}  // namespace riesz
