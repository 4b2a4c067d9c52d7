// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TEST(MakeSchedule, ListsTheNames) {
  EXPECT_ERROR(
      make_schedule("1f1b", {.stages = 2, .micro_batches = 2}),
      "there is no schedule \"1f1b\"; there are gpipe, one_f_one_b, interleaved, varuna, zb_h1, zb_h2, zb_v, "
      "v_half, v_min, pipedream, two_bw, ampnet");
}

TEST(MakeSchedule, RefusesWhatDoesNotFitByName) {
  EXPECT_ERROR(make_schedule("gpipe", {.stages = 0, .micro_batches = 2}), "gpipe: 0 stages, 2 micro-batches");
  EXPECT_ERROR(make_schedule("gpipe", {.stages = 2, .micro_batches = 2, .chunks = 2}),
               "gpipe: 2 chunks a worker; it has 1. Several have interleaved");
  EXPECT_ERROR(make_schedule("v_min", {.stages = 2, .micro_batches = 2, .chunks = 3}), "v_min: 3 chunks",
               "it has 2");
  EXPECT_ERROR(make_schedule("zb_v", {.stages = 2, .micro_batches = 2, .group = 2}), "zb_v: it has no group");
  EXPECT_ERROR(make_schedule("gpipe", {.stages = 2, .micro_batches = 2, .in_flight = -1}), "in_flight = -1");
  EXPECT_ERROR(make_schedule("gpipe", {.stages = 1 << 20, .micro_batches = 1 << 20}),
               "a table has at most 4194304");
  EXPECT_ERROR(make_schedule("interleaved", {.stages = 4, .micro_batches = 3}),
               "interleaved: 3 micro-batches in groups of 4 on 4 workers", "take 4 micro-batches or more");
  EXPECT_ERROR(make_schedule("interleaved", {.stages = 4, .micro_batches = 9}),
               "a multiple of 4, or a group of 9");
  EXPECT_ERROR(make_schedule("interleaved", {.stages = 4, .micro_batches = 8, .group = 3}),
               "groups of 3 on 4");
}

}  // namespace
}  // namespace riesz::testing
