// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/inspect.h"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "../io/temporary_folder.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

/// A checkpoint of one vector more than is alike in all, with a moment.
void save_one(const std::filesystem::path& folder, double value, const std::string& more, std::int64_t most) {
  const Partition alone = Partition::world();
  const at::Tensor x = at::full({6}, value, at::kFloat), ones = at::full({4}, 1, at::kDouble);
  const State state{{"w", "value", Space(alone, {2, 3}), {0, 6}, true, x},
                    {"w", "first", Space(alone, {2, 3}), {0, 6}, true, x},
                    {"same", "value", Space(alone, {4}), {0, 4}, true, ones},
                    {more, "value", Space(alone, {4}), {0, 4}, true, ones}};
  save_checkpoint(folder, alone, {state, {}, {}}, {.file_bytes = most});
}

TEST(Inspect, ListsAndCompares) {
  const TemporaryFolder folder;
  save_one(folder.path() / "a", 0.5, "only_a", 1000);
  save_one(folder.path() / "b", 0.75, "only_b", 10);  // in several files
  const std::string report = app::inspect_report((folder.path() / "a").string());
  EXPECT_THAT(report, HasSubstr("model: 3 tensors, 14 elements, 88 bytes\n"));
  EXPECT_THAT(report, HasSubstr("  w       F32   2 x 3  24     3    0.5\n"));
  EXPECT_THAT(report, HasSubstr("optimizer: 1 tensors, 6 elements, 24 bytes\n"));
  EXPECT_THAT(app::inspect_report((folder.path() / "a" / "model.safetensors").string()),
              HasSubstr("model.safetensors: 3 tensors"));

  const std::string a = (folder.path() / "a").string(), b = (folder.path() / "b").string();
  EXPECT_EQ(app::difference_report(a, a), "4 tensors are the same, 0 differ\n");
  EXPECT_EQ(app::difference_report(a, b),
            "1 tensors are the same, 4 differ\n"
            "  only_a     only in " +
                a +
                ": F64 of 4\n"
                "  only_b     only in " +
                b +
                ": F64 of 4\n"
                "  w          6 of 6 elements differ, by at most 0.25\n"
                "  exp_avg.w  6 of 6 elements differ, by at most 0.25\n");
  save_one(folder.path() / "c", std::numeric_limits<double>::infinity(), "only_a", 1000);
  EXPECT_THAT(app::difference_report(a, (folder.path() / "c").string()),
              HasSubstr("  w          6 of 6 elements differ, 6 where one is not finite\n"));
  EXPECT_ERROR(app::inspect_report(folder.path().string()), "has neither model.safetensors");
}

}  // namespace
}  // namespace riesz::testing
