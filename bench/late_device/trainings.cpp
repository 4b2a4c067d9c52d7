// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Trainings: every model at every layout, every optimizer with every stage of ZeRO, every schedule.
#include <memory>
#include <utility>

#include "cases.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/pretend_device.h"
#include "trials.h"
#include "updating.h"

namespace riesz::testing {
namespace {

/// Notes what is read in the third step. From then on nothing is new.
struct OfThird {
  explicit OfThird(std::map<std::string, std::int64_t>& into) : reads(into) {}
  ~OfThird() {
    for (const auto& [what, times] : here.seen()) reads[what] += times;
  }

  HostReadsHere here;
  std::map<std::string, std::int64_t>& reads;
};

template <typename SomeTrial>
Outcome trained_there(const SomeTrial& trial) {
  std::map<std::string, std::int64_t> reads;
  const TrainingRun here = trained(trial, at::kCPU);
  const TrainingRun there = trained(trial, pretend_device(), [&](int step) -> std::shared_ptr<void> {
    return step == 2 ? std::make_shared<OfThird>(reads) : nullptr;
  });
  const ::testing::AssertionResult same = compare_runs(there, here, trial.bound());
  return {same ? "" : same.message(), reads};
}

}  // namespace

std::vector<Case> training_cases() {
  std::vector<Case> all;
  for (const auto& [what, factors] : {std::pair("layout: ", layout_factors()),
                                      {"optimizer: ", optimizer_factors()},
                                      {"pipeline: ", pipeline_factors()}}) {
    for (const Trial& trial : all_trials(factors))
      all.push_back({what + trial.name(), [trial] { return trained_there(trial); }});
  }
  return all;
}

std::vector<Case> updating_cases() {
  std::vector<Case> all;
  if (Runtime::size() % 2 != 0) return all;
  for (const char* schedule : {"pipedream", "two_bw", "ampnet"}) {
    for (const std::optional<int> zero :
         {std::optional<int>(), std::optional(0), std::optional(1), std::optional(2)}) {
      const UpdatingTrial trial{schedule, zero};
      all.push_back({"updates: " + trial.name(), [trial] { return trained_there(trial); }});
    }
  }
  return all;
}

}  // namespace riesz::testing
