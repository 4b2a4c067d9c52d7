// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Copies to the host that nothing waits for, and checks of a device's values that are thrown later.
#include "riesz/comm/late_checks.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/host_value.h"
#include "riesz/comm/late_value.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/simulation.h"
#include "riesz/nn/parameter.h"
#include "riesz/optim/sgd.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/pretend_device.h"
#include "there.h"

namespace riesz::testing {
namespace {

at::Tensor number(double x, at::Device device) {
  return at::full({}, x, at::device(device).dtype(at::kDouble));
}

/// A check that takes down what it has judged, and throws unless it is below 10.
HostCheck below_10(std::vector<double>& judged) {
  return [&judged](const at::Tensor& value) {
    judged.push_back(host_value(value, 0.0));
    RIESZ_CHECK(judged.back() < 10, "the value is ", judged.back());
  };
}

void check_later(double x, at::Device device, std::vector<double>& judged) {
  riesz::check_later(LateValue(number(x, device)), below_10(judged));
}

class LateChecks : public ::testing::Test {
 protected:
  void TearDown() override { settle_late_checks(); }
  std::vector<double> judged;
};

TEST(LateValues, HaveTheValuesOfWhenTheyWereMade) {
  for (const at::Device device : {at::Device(at::kCPU), pretend_device()}) {
    SCOPED_TRACE(device.str());
    const at::Tensor x = at::arange(12, at::kFloat).view({3, 4}).to(device);
    const LateValue turned(x.t());
    x.zero_();

    EXPECT_TRUE(turned.wait().is_cpu());
    EXPECT_TRUE(turned.ready());
    EXPECT_EQ(turned.of_host(), device.is_cpu());
    EXPECT_SAME_BITS(turned.wait(), at::arange(12, at::kFloat).view({3, 4}).t());
  }
}

TEST_F(LateChecks, OfTheCpuThrowAtOnce) {
  const std::uint64_t before = late_checks_so_far();
  EXPECT_ERROR(check_later(11, at::kCPU, judged), "the value is 11");
  check_later(9, at::kCPU, judged);
  EXPECT_EQ(judged, (std::vector<double>{11, 9}));
  EXPECT_EQ(late_checks_so_far(), before);
}

TEST_F(LateChecks, OfADeviceThrowWhereTheyAreSettled) {
  check_later(1, pretend_device(), judged);
  check_later(11, pretend_device(), judged);
  check_later(2, pretend_device(), judged);
  EXPECT_ERROR(settle_late_checks(), "the value is 11");
  settle_late_checks();
  EXPECT_EQ(judged, (std::vector<double>{1, 11})) << "those behind a bad one are dropped";
}

TEST_F(LateChecks, AreSettledUpToAMark) {
  const std::uint64_t before = late_checks_so_far();
  check_later(11, pretend_device(), judged);
  const std::uint64_t mark = late_checks_so_far();
  check_later(12, pretend_device(), judged);
  settle_late_checks(before);
  EXPECT_EQ(mark, before + 1);
  EXPECT_ERROR(settle_late_checks(mark), "the value is 11");
  settle_late_checks(mark);
  EXPECT_ERROR(settle_late_checks(), "the value is 12");
}

/// Whatever is known sooner.
TEST_F(LateChecks, ThrowTheFirstAndNowhereElse) {
  for (int i = 0; i < 3; ++i) check_later(11 + i, pretend_device(), judged);
  for (int i = 0; i < 200; ++i) check_later(1, pretend_device(), judged);
  EXPECT_ERROR(settle_late_checks(), "the value is 11");
}

TEST_F(LateChecks, ThatAreGoodAreNotKept) {
  const std::uint64_t before = late_checks_so_far();
  for (int i = 0; i < 200; ++i) check_later(1, pretend_device(), judged);
  finish_pretend_work();
  check_later(1, pretend_device(), judged);
  EXPECT_GE(judged.size(), 200U) << "a program that never settles must not keep all";
  EXPECT_EQ(late_checks_so_far(), before + 201);
}

TEST_F(LateChecks, NameTheLayerThatAsked) {
  {
    const LayerScope layer("wte");
    check_later(11, pretend_device(), judged);
  }
  const LayerScope update("", Phase::update);
  EXPECT_ERROR(settle_late_checks(), "the value is 11");
  EXPECT_EQ(LayerScope::left_by_exception(), "wte");
}

TEST_F(LateChecks, OfOtherThreadsAreSettledHere) {
  std::thread([&] { check_later(11, pretend_device(), judged); }).join();
  EXPECT_ERROR(settle_late_checks(), "the value is 11");
}

TEST_F(LateChecks, WaitWhileASimulationRuns) {
  check_later(11, pretend_device(), judged);
  {
    const Simulation simulation(0, 2);
    settle_late_checks();
    check_later(12, at::kCPU, judged);  // reads what a good program would
  }
  EXPECT_ERROR(settle_late_checks(), "the value is 11");
}

/// What a step put off is thrown by the next one, and what comes in between by the one after it.
TEST_F(LateChecks, OfAStepAreThrownByTheNextStep) {
  Parameter w("w", Space(row(), {3}), {});
  w.initialise(1, at::kDouble);
  SGD optimizer({w});
  check_later(11, pretend_device(), judged);
  optimizer.step();
  check_later(12, pretend_device(), judged);
  EXPECT_ERROR(optimizer.step(), "the value is 11");
  EXPECT_EQ(optimizer.steps(), 1);
  optimizer.step();
  EXPECT_ERROR(optimizer.step(), "the value is 12");
  optimizer.step();
}

}  // namespace
}  // namespace riesz::testing
