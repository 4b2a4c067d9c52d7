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

void check_offload(const std::vector<std::string>& words, int ranks = 1) {
  const testing::TemporaryFolder folder;
  check_config(load_config(folder.write("my_run.toml", ""), words), ranks);
}

TEST(OffloadKeys, ThatCannotBeAreRefused) {
  EXPECT_NO_THROW(check_offload({"offload.state=disk", "offload.path=/tmp", "optimizer.kind=sgd"}));
  EXPECT_ERROR(check_offload({"offload.state=disk"}),
               "offload.state = \"disk\" (on the command line) needs offload.path");
  EXPECT_ERROR(check_offload({"offload.state=disk", "offload.path=/tmp", "optimizer.kind=lamb"}),
               "optimizer.kind = \"lamb\"", "looks at whole parameters", "set optimizer.kind to \"adamw\"");
  EXPECT_NO_THROW(
      check_offload({"offload.state=disk", "offload.path=/tmp,/var/tmp", "offload.masters=disk"}));
  EXPECT_ERROR(
      check_offload({"offload.state=host"}),
      "offload.state = \"host\" (on the command line) is for training on GPUs, and here is device = ",
      "leave out offload.state, or set it to \"disk\"");
  EXPECT_ERROR(check_offload({"offload.state=disk", "offload.path=/tmp", "offload.masters=host"}),
               "offload.masters = \"host\" (on the command line), and offload.state = \"disk\"",
               "masters lie where the state does");
  EXPECT_ERROR(check_offload({"offload.depth=3"}),
               "read only with offload.state = \"disk\" or offload.activations = \"disk\"");
}

TEST(OffloadKeys, OfActivationsThatCannotBeAreRefused) {
  EXPECT_NO_THROW(check_offload({"offload.activations=disk", "offload.path=/tmp", "offload.depth=3",
                                 "optimizer.kind=lamb", "layout.recompute=blocks"}));
  EXPECT_ERROR(check_offload({"offload.activations=disk"}),
               "offload.activations = \"disk\" (on the command line) needs offload.path");
  EXPECT_ERROR(check_offload({"offload.activations=disk", "offload.path=/tmp", "device=cuda"}),
               "offload.activations = \"disk\" (on the command line) is for training on the CPU");
  EXPECT_ERROR(
      check_offload(
          {"offload.activations=disk", "offload.path=/tmp", "layout.pp=2", "layout.recompute=blocks"}, 2),
      "layout.recompute = \"blocks\" (on the command line): on a pipeline (layout.pp = 2",
      "set layout.recompute to \"none\", or leave out offload.activations");
}

}  // namespace
}  // namespace riesz
