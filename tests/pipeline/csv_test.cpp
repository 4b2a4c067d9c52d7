// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Tables as files in the form of torch.distributed.pipelining; golden/torch_*.csv are written by it.
#include "riesz/pipeline/schedule/csv.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/make_schedule.h"
#include "riesz/pipeline/schedule/verify.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

TEST(Csv, IsReadBackTheSame) {
  for (const NamedSchedule& schedule : named_schedules()) {
    for (const auto& [p, m] : {std::pair{1, 1}, {2, 4}, {4, 12}}) {
      const Schedule table = schedule.make({.stages = p, .micro_batches = m});
      EXPECT_EQ(from_csv(to_csv(table)), table) << schedule.name;
      EXPECT_EQ(from_csv(to_csv(forward_only(table))), forward_only(table)) << schedule.name;
    }
  }
  EXPECT_EQ(to_csv(schedules::pipedream({.stages = 2, .micro_batches = 2})),
            "0F0,0F1,,0B0+,,0B1+\n,1F0,1B0+,1F1@1,1B1@1+\n");
}

Schedule torch(const std::string& name) {
  std::ifstream file(RIESZ_GOLDEN "/torch_" + name + ".csv");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return from_csv(text, name);
}

TEST(Csv, ReadsWhatTorchWrites) {
  const ScheduleOptions options{.stages = 4, .micro_batches = 8};
  EXPECT_EQ(aligned(torch("gpipe")), schedules::gpipe(options));
  EXPECT_EQ(aligned(torch("interleaved")), schedules::interleaved(options));
  EXPECT_EQ(aligned(torch("interleaved_with_communication")), schedules::interleaved(options));
  EXPECT_EQ(aligned(torch("zb_v")), schedules::zb_v(options));
  EXPECT_EQ(aligned(torch("zb_v_few")), schedules::zb_v({.stages = 4, .micro_batches = 3}));
  // Of a pair that overlaps the forward pass begins before the backward pass has ended: one chunk more than
  // zb_v.
  EXPECT_EQ(verify(torch("dual_pipe_v")).activations, (std::vector<int>{9, 9, 9, 9}));
}

TEST(Csv, TorchPublishesOneOrderThatCannotBeRun) {
  // What its step does is another order, with the micro-batches 0 to 7 on the last worker too.
  EXPECT_ERROR(verify(torch("one_f_one_b")),
               "3B0 (worker 3, slot 1): it needs 3F0, which is nowhere in the table");
}

TEST(Csv, SaysWhereWhatIsWrong) {
  EXPECT_ERROR(from_csv("0F0,0B0\n1F0,1X0\n", "mine.csv"), "mine.csv, line 2, cell 2: \"1X0\" is no action",
               "such as 2F3");
  for (const char* cell : {"F0", "0F", "0F0@", "0F0@1+x", "-1F0", "0F-1", "99999999999F0", "(0F0;0B0",
                           "(0F0)OVERLAP_F_B0", "0SEND_X1", "0"})
    EXPECT_ERROR(from_csv(cell), "line 1, cell 1", "is no action");
  EXPECT_ERROR(from_csv("0F0\n\n1F0\n"), "line 2, cell 1: a worker without an action");
  EXPECT_ERROR(from_csv(""), "line 1, cell 1: a worker without an action");
  EXPECT_ERROR(from_csv("0F0,2F0,2F1\n"), "it names chunk 2 but not chunk 1");
  EXPECT_ERROR(from_csv("0F2000000000\n"), "micro-batch 2000000000, but has 1 actions");
}

}  // namespace
}  // namespace riesz::testing
