// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// A schedule of one's own, as docs/reference/schedules.md shows it.
#include <gtest/gtest.h>

#include "riesz/pipeline/schedule/align.h"
#include "riesz/pipeline/schedule/draw.h"
#include "riesz/pipeline/schedule/in_turns.h"
#include "riesz/pipeline/schedule/simulate.h"
#include "riesz/pipeline/schedule/verify.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

/// All micro-batches in a worker's first chunk, then all in its next one; back the same way (Lamy-Poirier,
/// 2211.05953).
Schedule breadth_first(int workers, int chunks, int micro_batches) {
  Schedule table{looped(workers, chunks), micro_batches, std::vector<std::vector<Action>>(workers)};
  const auto add = [&](Pass pass, int chunk) {
    std::vector<Action>& row = table.rows[table.worker_of[chunk]];
    for (const Action& action : each_micro_batch(pass, chunk, micro_batches)) row.push_back(action);
  };
  for (int chunk = 0; chunk < table.chunks(); ++chunk) add(Pass::forward, chunk);
  for (int chunk = table.chunks() - 1; chunk >= 0; --chunk) add(Pass::backward, chunk);
  return aligned(table);
}

TEST(OwnSchedule, IsAFunctionAndIsVerified) {
  const Schedule table = breadth_first(2, 2, 3);
  EXPECT_EQ(draw(table),
            "worker 0  0F0 0F1 0F2 2F0 2F1 2F2 .   .   2B0 2B1 2B2 0B0 0B1 0B2\n"
            "worker 1  .   1F0 1F1 1F2 3F0 3F1 3F2 3B0 3B1 3B2 1B0 1B1 1B2\n"
            "2F3: chunk 2, micro-batch 3; F forward, B backward, . idle\n");
  EXPECT_EQ(bubble(simulate(table)), 1 - 36.0 / (2 * 21));  // (p − 1)/(v m + p − 1), as interleaved
  EXPECT_EQ(verify(table).activations, (std::vector<int>{6, 6}));
}

TEST(OwnSchedule, IsRefusedWhereItIsWrong) {
  Schedule table = breadth_first(2, 2, 3);
  std::swap(table.rows[0][2], table.rows[0][8]);
  EXPECT_ERROR(verify(table), "verify: 2B0 (worker 0, slot 2): it needs 2F0, which comes later, in slot 3");
}

}  // namespace
}  // namespace riesz::testing
