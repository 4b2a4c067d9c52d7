// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/schedule/verify.h"

#include <gtest/gtest.h>

#include "riesz/pipeline/schedule/makers.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

constexpr Pass F = Pass::forward, B = Pass::backward, I = Pass::backward_inputs, W = Pass::backward_weights,
               R = Pass::recompute;

Schedule on_one(std::vector<Action> row) { return {{0}, 2, {std::move(row)}}; }

TEST(Verify, NamesTheFirstWrongActionAndWhy) {
  const std::vector<Action> right = {{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}};
  verify(on_one(right));

  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {B, 0, 1}, {F, 0, 1}, {B, 0, 0}})),
               "verify: 0B1 (worker 0, slot 1): it needs 0F1, which comes later, in slot 2");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 0}, {B, 0, 0}, {B, 0, 1}})),
               "verify: 0F0 (worker 0, slot 1): it is done before, in slot 0");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {B, 0, 0}, {B, 0, 1}})),
               "verify: 0B1 (worker 0, slot 2): it needs 0F1, which is nowhere in the table");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 1}, {B, 0, 0}})),
               "verify: 0F1 (worker 0, slot 1): the table goes backward, but has no backward pass for it");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 2}})),
               "verify: 0F2 (worker 0, slot 1): the micro-batches are 0 to 1");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 1, 1}})),
               "verify: 1F1 (worker 0, slot 1): the chunks are 0 to 0");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}})), "1 chunks with 2 micro-batches have 2 forward passes",
               "has 1 actions");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {B, 0, 0}})),
               "verify: there is no 0F1: worker 0, which has chunk 0");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {I, 0, 1}})),
               "verify: 0I1 (worker 0, slot 3): it is of inputs alone, but there is no 0W1");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {W, 0, 0}, {B, 0, 1}})),
               "verify: 0B0 (worker 0, slot 2): it is of weights too, as is 0W0");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {R, 0, 0}, {B, 0, 1}})),
               "verify: 0B0 (worker 0, slot 2): it needs 0R0, which comes later, in slot 3");
  EXPECT_ERROR(verify(on_one({{F, 0, 0}, {F, 0, 1}, {R, 0, 0}})),
               "verify: 0R0 (worker 0, slot 2): nothing goes backward, so there is nothing to recompute for");
  EXPECT_ERROR(verify({{0, 2}, 1, {{}, {}}}), "verify: chunk 1 lies on worker 2, but the table has 2 rows");
  EXPECT_ERROR(verify({{0, 1}, 1, {{{F, 0, 0}, {F, 1, 0}}, {}}}),
               "verify: 1F0 (worker 0, slot 1): chunk 1 lies on worker 1");
}

TEST(Verify, NamesTheCircleInWhichWorkersWait) {
  const Schedule table{
      {0, 1},
      2,
      {{{F, 0, 0}, {B, 0, 0}, {F, 0, 1}, {B, 0, 1}}, {{F, 1, 0}, {F, 1, 1}, {B, 1, 0}, {B, 1, 1}}}};

  EXPECT_ERROR(
      verify(table),
      "verify: a circle of waiting: 0B0 (worker 0, slot 1) needs 1B0, which comes later on worker 1; "
      "1F1 (worker 1, slot 1) needs 0F1, which comes later on worker 0");
}

TEST(Verify, AsksForOneOrderOfSendsAndReceives) {
  const Schedule table{{0, 1}, 2, {{{F, 0, 0}, {F, 0, 1}}, {{F, 1, 1}, {F, 1, 0}}}};

  EXPECT_ERROR(verify(table), "verify: 1F1 (worker 1, slot 0)",
               "micro-batch 1 from chunk 0, but that of micro-batch 0",
               "sends and receives must be in one order");
}

TEST(Verify, CountsMessagesUnderWay) {
  // Both want to send two results before they take one.
  const Schedule table{
      {0, 1},
      2,
      {{{F, 0, 0}, {F, 0, 1}, {B, 0, 0}, {B, 0, 1}}, {{F, 1, 0}, {B, 1, 0}, {F, 1, 1}, {B, 1, 1}}}};
  verify(table, {.capacity = 1});

  const Schedule gpipe = schedules::gpipe({.stages = 2, .micro_batches = 3});
  verify(gpipe, {.capacity = 1});
  const Schedule looped = schedules::interleaved({.stages = 2, .micro_batches = 4});
  verify(looped, {.capacity = 2});
  EXPECT_ERROR(verify(looped, {.capacity = 1}), "a circle of waiting",
               "has no room for its message to worker 1, to which 1 is under way");
  EXPECT_ERROR(verify(gpipe, {.capacity = 0}), "at least one must have room");
}

TEST(Verify, FollowsSkips) {
  const Schedule table = schedules::one_f_one_b({.stages = 4, .micro_batches = 4});
  verify(table, {.skips = {{0, 3}, {1, 2}, {0, 1}}});
  verify(table, {.capacity = 2, .skips = {{0, 3}}});

  EXPECT_ERROR(verify(table, {.capacity = 1, .skips = {{0, 3}}}),
               "0F3 (worker 0, slot 3) has no room for its message to worker 3, to which 1 is under way; "
               "3B1 (worker 3, slot 6) has no room for its message to worker 0");
  EXPECT_ERROR(verify(table, {.skips = {{2, 1}}}), "a skip from chunk 2 to chunk 1", "must go forward");
}

}  // namespace
}  // namespace riesz::testing
