// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What is thrown in a schedule says where, and the next run is right; what would wait for itself is an error.
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "block_net.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/wait.h"
#include "riesz/nn/context.h"
#include "riesz/pipeline/run/pipeline.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

struct NoSuchToken : std::runtime_error {
  NoSuchToken() : std::runtime_error("no such token") {}
};

bool nested_is(const std::exception& thrown) {
  try {
    std::rethrow_if_nested(thrown);
  } catch (const NoSuchToken&) {
    return true;
  }
  return false;
}

TEST(AfterAnError, TheNextRunIsRight) {
  if (Runtime::size() != 2 && Runtime::size() != 4) return;
  for (const std::string name : {"gpipe", "one_f_one_b", "zb_h1"}) {
    if (Runtime::size() == 4 && name != "one_f_one_b") continue;  // several workers to a stage
    SCOPED_TRACE(name);
    std::optional<std::int64_t> wrong;
    BlockNet net(a_block_a_stage({0, 1}), 2, [&](BlockNet& blocks, const Vector& x) {
      const Vector y = blocks[1](blocks[0](x));
      if (wrong == ContextScope::current()->step) throw NoSuchToken();
      return y;
    });
    net.initialise(3, at::kDouble);
    const Pipeline pipeline(net, make_schedule(name, {.stages = 2, .micro_batches = 5}));
    const auto train = [&] {
      for (Parameter& parameter : net.parameters()) parameter.zero_gradient();
      return pipeline.train([&](std::int64_t i) { return loss_of(net, i); });
    };
    const std::vector<double> losses = train();
    const auto gradients = gradients_of(net);
    for (const std::int64_t i : {2, 0, 4}) {
      wrong = i;
      try {
        train();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const Error& error) {
        const std::string text = error.what();
        EXPECT_NE(text.find(concat("no such token; in forward of micro-batch ", i, " in chunk 1 (stage 1)")),
                  std::string::npos)
            << text;
        EXPECT_TRUE(nested_is(error));
      }
      wrong.reset();
      EXPECT_EQ(train(), losses);
      for (const auto& [parameter, gradient] : gradients_of(net))
        EXPECT_TRUE(at::equal(gradient, gradients.at(parameter))) << parameter;
    }
  }
}

/// On all workers, before anything is sent there. The third block was left out of the stages.
TEST(AWayWithoutAPlace, SaysWhichModuleHasNoStage) {
  if (Runtime::size() % 2 != 0) return;
  const auto train = [](const std::string& schedule, const Stages& stages) {
    BlockNet net(stages, 3);
    net.initialise(3, at::kDouble);
    const Pipeline pipeline(net, make_schedule(schedule, {.stages = 2, .micro_batches = 4}));
    return pipeline.train([&](std::int64_t i) { return loss_of(net, i); });
  };
  const Stages forgotten = a_block_a_stage({0, 1});
  EXPECT_ERROR(train("one_f_one_b", forgotten), "block.2 is of stage 0, to which micro-batch ",
               "after stage 1; no stage is named for block.2",
               "name its stage, or that of a module above it");
  EXPECT_EQ(train("gpipe", forgotten).size(), 4U);
}

/// Micro-batch 0 waits for what micro-batch 1 is to say, on the same worker.
TEST(CirclesOfWaiting, AreErrorsThatDrawThem) {
  bool said = false, in_turn = false;
  const auto wait = [&](std::int64_t i) {
    const auto mine = [] { return std::vector{Runtime::rank()}; };
    if (i == 0)
      wait_until(
          "what the next one says", [&] { return said; }, mine);
    else
      said = true;
  };
  BlockNet net(a_block_a_stage({0}), 1);
  net.initialise(3, at::kDouble);
  net.called = [&](int) {
    if (in_turn) wait(ContextScope::current()->step);
  };
  const Pipeline pipeline(net, make_schedule("gpipe", {.stages = 1, .micro_batches = 3}));
  const auto train = [&] {
    return pipeline.train([&](std::int64_t i) {
      if (!in_turn) wait(i);
      return loss_of(net, i);
    });
  };
  EXPECT_ERROR(
      train(), "a circle of waiting: slot 0, forward of micro-batch 0 in chunk 0 (stage 0)",
      "\n  waits for what the next one says\n  -> which this worker is to give, in slot 1, forward of "
      "micro-batch 1 in chunk 0 (stage 0), or later\n  -> which comes after slot 0");
  said = false;
  in_turn = true;
  EXPECT_ERROR(train(), "a circle of waiting: forward of micro-batch 0 in chunk 0 (stage 0)",
               "waits, in its turn, for what the next one says");
}

/// Which is found before anything runs, for all know all rows.
TEST(CirclesOfWaiting, OverSeveralWorkersAreFoundInTheTable) {
  if (Runtime::size() % 2 != 0) return;
  BlockNet net(a_block_a_stage({0, 1}), 2);
  const Pass F = Pass::forward, B = Pass::backward;
  const Schedule table{
      {0, 1},
      2,
      {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}}};
  EXPECT_ERROR(Pipeline(net, table), "a circle of waiting: 0B0 (worker 0, slot 1) needs 1B0",
               "1F1 (worker 1, slot 1) needs 0F1");
}

}  // namespace
}  // namespace riesz::testing
