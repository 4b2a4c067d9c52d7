// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Keys of where state lies.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"

namespace riesz {
namespace {

void check_offload(const std::vector<std::string>& words) {
  const testing::TemporaryFolder folder;
  check_config(load_config(folder.write("my_run.toml", ""), words), 1);
}

TEST(OffloadKeys, ThatCannotBeAreRefused) {
  EXPECT_NO_THROW(check_offload({"offload.state=disk", "offload.path=/tmp", "optimizer.kind=sgd"}));
  EXPECT_ERROR(check_offload({"offload.state=disk"}),
               "offload.state = \"disk\" (on the command line) needs offload.path");
  EXPECT_ERROR(check_offload({"offload.state=disk", "offload.path=/tmp", "optimizer.kind=lamb"}),
               "optimizer.kind = \"lamb\"", "looks at whole parameters", "set optimizer.kind to \"adamw\"");
  EXPECT_ERROR(check_offload({"offload.state=disk", "offload.path=/tmp", "device=cuda"}),
               "offload.state = \"disk\" (on the command line) is for training on the CPU");
  EXPECT_ERROR(check_offload({"offload.depth=3"}), "read only with offload.state = \"disk\"");
}

}  // namespace
}  // namespace riesz
