// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every model, layout, optimizer, stage and schedule trains on a device as on the CPU, and reads nothing
// there.
#include "trials.h"

#include <ATen/Context.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "riesz/comm/error.h"
#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/kernels.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/testing/pretend_device.h"
#include "updating.h"

namespace riesz::testing {
namespace {

/// From the third step on nothing is new: no message is the first of its kind, no table is made.
std::shared_ptr<void> no_reads_from_the_third(int step) {
  return step < 2 ? nullptr : std::static_pointer_cast<void>(std::make_shared<NoHostReads>());
}

template <typename Trial>
void expect_trained_there(const Trial& trial) {
  SCOPED_TRACE(trial.name());
  const TrainingRun here = trained(trial, at::kCPU);
  EXPECT_TRUE(compare_runs(trained(trial, pretend_device(), no_reads_from_the_third), here, trial.bound()));
}

TEST(OnADevice, EveryModelTrainsAtEveryLayout) {
  for (const Trial& trial : covering_trials(layout_factors())) expect_trained_there(trial);
}

TEST(OnADevice, EveryModelTrainsInOtherTypes) {
  // Of two workers by kernels alone: without them what each computes is what one does.
  const bool by_kernels = kernel_library_for(pretend_device().type()) != nullptr;
  if (Runtime::size() > (by_kernels ? 2 : 1)) return;
  for (const Trial& trial : covering_trials(type_factors())) expect_trained_there(trial);
}

TEST(OnADevice, EveryOptimizerTrainsWithEveryStage) {
  if (Runtime::size() != 2) return;
  for (const Trial& trial : covering_trials(optimizer_factors())) expect_trained_there(trial);
}

/// Another processor adds the terms of products in another order: here by loops of LibTorch's own. So the
/// bounds of half types are not of one order alone.
TEST(OnADevice, HalfTypesKeepTheirBoundsInAnotherOrderOfSums) {
  if (Runtime::size() != 2 || !at::globalContext().userEnabledMkldnn()) return;
  for (const Trial& trial : covering_trials(optimizer_factors())) {
    if (!trial.in_half_types()) continue;
    SCOPED_TRACE(trial.name());
    const TrainingRun here = trained(trial, at::kCPU);
    at::globalContext().setUserEnabledMkldnn(false);
    const TrainingRun otherwise = trained(trial, at::kCPU);
    at::globalContext().setUserEnabledMkldnn(true);
    EXPECT_TRUE(compare_runs(otherwise, here, trial.bound()));
  }
}

TEST(OnADevice, EveryScheduleTrains) {
  for (const Trial& trial : covering_trials(pipeline_factors())) expect_trained_there(trial);
}

/// A profile shows there what it shows on the CPU, with the same bytes, and the host still waits for nothing.
TEST(OnADevice, ATraceHasItsOperatorsAndKernels) {
  if (Runtime::size() != 2) return;
  const Trial trial{"model.kind=gpt2 layout.tp=2"};
  const auto traced = [&](at::Device device) {
    Trace::start();
    std::optional<KernelRanges> kernels(std::in_place);
    trained(trial, device, device.is_cpu() ? AroundStep() : no_reads_from_the_third);
    kernels.reset();
    return Trace::stop();
  };
  const auto seen = [](const TraceLog& log, RangeKind kind) {
    std::map<std::string, Traffic> all;  // sent, by name
    for (const TraceEvent& event : log.events)
      if (event.kind == kind) all[event.name] += event.sent;
    return all;
  };
  const TraceLog here = traced(at::kCPU), there = traced(pretend_device());
  for (const RangeKind kind : {RangeKind::phase, RangeKind::layer})
    EXPECT_EQ(seen(there, kind), seen(here, kind));
  // Whether a step counts is also agreed on there by messages of some bytes, since no host knows it.
  for (const auto& [name, sent] : seen(here, RangeKind::operation))
    EXPECT_GE(seen(there, RangeKind::operation)[name].bytes, sent.bytes) << name;
  EXPECT_GT(seen(there, RangeKind::operation).at("AllReduce").bytes, 0);
  EXPECT_TRUE(seen(there, RangeKind::kernel).contains("aten::mm"));
}

/// Within a stage of two workers messages are a team's.
TEST(OnADevice, PipelinesOfTeamsTrain) {
  if (Runtime::size() != 4) return;
  for (const char* settings :
       {"model.kind=gpt2 layout.dp=2 layout.zero=1 train.micro_batches=3 pipeline.schedule=one_f_one_b",
        "model.kind=llama layout.dp=2 layout.zero=3 train.micro_batches=3 pipeline.schedule=gpipe",
        "model.kind=gpt2 layout.dp=2 layout.zero=2 train.micro_batches=4 pipeline.schedule=interleaved",
        "model.kind=llama layout.tp=2 layout.zero=0 train.micro_batches=3 pipeline.schedule=zb_v"})
    expect_trained_there(Trial{concat("layout.pp=2 model.layers=2 train.batch=4 ", settings)});
}

/// What gates chose goes from stage to stage, also from the first, which has no gate. The host reads choices.
TEST(OnADevice, PipelinesOfExpertsTrain) {
  if (Runtime::size() % 2 != 0) return;
  const Trial trial{concat(
      "model.kind=gpt2_moe model.experts=3 model.experts_every=2 model.layers=2 layout.pp=2 layout.dp=",
      Runtime::size() / 2, " train.batch=4 train.micro_batches=3")};
  EXPECT_TRUE(compare_runs(trained(trial, pretend_device()), trained(trial, at::kCPU), trial.bound()));
}

TEST(OnADevice, SchedulesThatUpdateTrain) {
  if (Runtime::size() % 2 != 0) return;
  for (const UpdatingTrial& trial : {UpdatingTrial{"pipedream", {}}, {"two_bw", 1}, {"ampnet", 2}})
    expect_trained_there(trial);
}

}  // namespace
}  // namespace riesz::testing
