// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Every model, layout, optimizer, stage and schedule trains on a device as on the CPU, and reads nothing
// there.
#include "trials.h"

#include <gtest/gtest.h>

#include <optional>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
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

TEST(OnADevice, EveryOptimizerTrainsWithEveryStage) {
  if (Runtime::size() != 2) return;
  for (const Trial& trial : covering_trials(optimizer_factors())) expect_trained_there(trial);
}

TEST(OnADevice, EveryScheduleTrains) {
  for (const Trial& trial : covering_trials(pipeline_factors())) expect_trained_there(trial);
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

TEST(OnADevice, SchedulesThatUpdateTrain) {
  if (Runtime::size() % 2 != 0) return;
  for (const UpdatingTrial& trial : {UpdatingTrial{"pipedream", {}}, {"two_bw", 1}, {"ampnet", 2}})
    expect_trained_there(trial);
}

}  // namespace
}  // namespace riesz::testing
