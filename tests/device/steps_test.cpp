// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A training step reads nothing on the host at any stage of ZeRO, of small buckets.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../zero/training.h"
#include "riesz/comm/late_checks.h"
#include "riesz/comm/runtime.h"
#include "riesz/nn/context.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/clip.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/tokens.h"
#include "there.h"

namespace riesz::testing {
namespace {

/// What a step trains with, sent ahead from pinned memory.
struct SentAhead {
  at::Tensor ids, targets;
  double count;
};

at::Tensor sent(const at::Tensor& host) {
  return host.pin_memory().to(pretend_device(), /*non_blocking=*/true);
}

SentAhead batch_of(const Course& course, int step) {
  const at::Tensor targets = targets_of(course, step);
  return {sent(ids_of(course, step)), sent(targets),
          static_cast<double>(targets.ge(0).sum().item<std::int64_t>())};
}

Course small_course() {
  Course course{.batch = 3, .steps = 4};
  course.config.layers = 1;
  course.config.dropout = 0.1;
  course.device = pretend_device();
  return course;
}

/// Two micro-batches, with gradients clipped.
void step(const Course& course, models::MinGpt& model, Zero* zero, Optimizer& optimizer, int number,
          const SentAhead& batch) {
  constexpr std::int64_t kMicroBatches = 2;
  const bool reduced = optimizer.wants_reduced_gradients();
  if (zero != nullptr && !reduced) zero->set_reducing(false);
  const Split split = Split::balanced(course.batch, kMicroBatches);
  for (std::int64_t i = 0; i < kMicroBatches; ++i) {
    if (zero != nullptr) zero->begin(i, kMicroBatches);
    const Interval some = split[static_cast<int>(i)];
    const ContextScope scope(
        {.training = true, .seed = 7, .step = number, .first_row = some.begin, .rows = course.batch});
    Chain chain;
    const Vector logits = model(on(model.tokens(), batch.ids.narrow(0, some.begin, some.size())));
    const Loss loss =
        cross_entropy(logits, on(model.targets(), batch.targets.narrow(0, some.begin, some.size())));
    backward((1 / batch.count) * loss.sum);
  }
  if (reduced) clip_gradients(*optimizer.store(), 1);
  optimizer.step();
  optimizer.zero_gradients();
}

/// From the third step on nothing is new: no message is the first of its kind, no table is made.
void expect_no_host_reads(const Course& course, const riesz::Layout& layout) {
  models::MinGpt model(layout, course.config);
  model.initialise(7, course.type, course.device);
  set_recompute(model, course.recompute);
  std::optional<Zero> zero;
  if (course.zero) zero.emplace(model.parameters(), *course.zero);
  const std::unique_ptr<Optimizer> optimizer =
      course.optimizer(zero ? zero->store() : whole(model.parameters()));
  std::vector<SentAhead> batches;
  for (int i = 0; i < course.steps; ++i) batches.push_back(batch_of(course, i));
  for (int i = 0; i < course.steps; ++i) {
    std::optional<NoHostReads> none;
    if (i >= 2) none.emplace();
    EXPECT_NO_THROW(
        step(course, model, zero ? &*zero : nullptr, *optimizer, i, batches[static_cast<std::size_t>(i)]));
  }
  settle_late_checks();
}

/// Of several buckets, and without ZeRO. The trials have all optimizers at all stages, of one bucket.
TEST(OnADevice, AStepReadsNothingAtAnyStage) {
  for (const int stage : {-1, 0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    Course course = small_course();
    course.optimizer = some_optimizers()[1].second;
    if (stage >= 0) course.zero = ZeroOptions{.stage = stage, .bucket = 1000, .keep = 100};
    course.recompute = {.regions = RecomputePolicy::Regions::blocks};
    expect_no_host_reads(course, spaces::one_d(data_parallel()));
  }
}

}  // namespace
}  // namespace riesz::testing
