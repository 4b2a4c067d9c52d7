// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A layout in one word, and keys that have another name now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

using Words = std::vector<std::string>;

Config load(const std::string& toml, const Words& words) {
  const testing::TemporaryFolder folder;
  return load_config(folder.write("my_run.toml", toml), words);
}

TEST(LayoutWord, IsTakenFromAFileAndFromTheCommandLine) {
  const Config of_file = load("layout = \"tp2.dp4\"", {});
  EXPECT_EQ(of_file.layout.dp, 4);
  EXPECT_EQ(of_file.layout.tp, 2);
  EXPECT_THAT(value_and_origin(of_file, "layout.dp"), ::testing::EndsWith("my_run.toml)"));
  const Config of_both = load("layout = \"dp4.tp2\"", {"layout=dp8", "layout.sp=2"});
  EXPECT_EQ(of_both.layout.dp, 8);
  EXPECT_EQ(of_both.layout.tp, 2);
  EXPECT_EQ(of_both.layout.sp, 2);

  EXPECT_ERROR(load("layout = \"dp2.x2\"", {}),
               "my_run.toml: layout is \"dp2.x2\", where \"x2\" is no extent");
  EXPECT_EQ(load("", {"layout=dp2.ep4"}).layout.ep, 4);
  const Config of_space = load("layout = \"dp2.space4x2\"", {});
  EXPECT_EQ(of_space.layout.space, (std::vector<std::int64_t>{4, 2}));
  EXPECT_EQ(load("", {"layout.space=[2, 3]"}).layout.space, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(load("", {"layout.space=2,3"}).layout.space, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(value_text(*find_key("layout.space"), of_space), "[4, 2]");
  for (const char* wrong :
       {"layout.space=[2, 0]", "layout.space=[]", "layout.space=[2, \"a\"]", "layout.space=2x2"})
    EXPECT_ERROR(load("", {wrong}), "layout.space is ", "it must be a list of integers, each 1 or more");
  for (const char* wrong :
       {"layout=", "layout=dp", "layout=dp0", "layout=dp2x2", "layout=dp2.", "layout=.dp2", "layout=space2",
        "layout=space2x2x2", "layout=space2x0", "layout=space2x"})
    EXPECT_ERROR(load("", {wrong}),
                 "it must be axes (pp, dp, ep, space, sp, tp) with their extents, such as dp2.tp4");
}

TEST(EarlierKeys, AreRefusedWithTheirNewNames) {
  EXPECT_ERROR(load("", {"layout.rounds=2"}), "\"layout.rounds\" is no key any more; it is layout.panels");
  EXPECT_ERROR(load("", {"layout.keep=true"}), "it is layout.keep_gathered");
  EXPECT_ERROR(load("", {"layout.cheapest=true"}), "it is layout.least_traffic");
}

}  // namespace
}  // namespace riesz
