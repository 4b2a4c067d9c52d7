// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A layout in one word, and keys that have another name now.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

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
  EXPECT_ERROR(load("layout = \"dp2.x2\"", {}),
               "my_run.toml: layout is \"dp2.x2\", where \"x2\" is no axis and its extent; it must be");
  EXPECT_ERROR(load("", {"layout=sapce2x2"}), "\"sapce2x2\" is no axis", "did you mean \"space\"?");
  EXPECT_ERROR(load("", {"layout=space2"}), "\"space2\" has 1 number; space has rows x columns, such as");
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

/// An axis that the word does not name has one worker, whatever the file says; a key behind it adds one.
TEST(LayoutWord, IsTheWholeLayout) {
  const Config config = load("[layout]\ndp = 4\ntp = 2\nspace = [2, 2]\n", {"layout=dp8", "layout.sp=2"});
  EXPECT_EQ(config.layout.dp, 8);
  EXPECT_EQ(config.layout.tp, 1);
  EXPECT_EQ(config.layout.sp, 2);
  EXPECT_EQ(config.layout.space, (std::vector<std::int64_t>{1, 1}));
  EXPECT_THAT(value_and_origin(config, "layout.tp"), ::testing::EndsWith("1 (the default)"));
  EXPECT_ERROR(
      load("", {"layout.sp=2", "layout=dp8"}),
      "\"layout=dp8\" on the command line says the whole layout, and \"layout.sp=2\" before it is of "
      "an axis that it does not name; name all axes in it, or put \"layout.sp=2\" behind it");
  EXPECT_EQ(load("", {"layout.sp=2", "layout.dp=1", "layout=tp8.sp4"}).layout.sp, 4);
  EXPECT_EQ(load("", {"layout=dp2.tp2", "layout=dp4"}).layout.tp, 1);
}

/// What the file says of its own stages goes with them; what a word says of stages is an error without any.
TEST(LayoutWord, TakesTheFilesStagesAway) {
  const std::string staged = "[layout]\npp = 2\n[pipeline]\nschedule = \"gpipe\"\n";
  EXPECT_EQ(load(staged, {"layout=pp4"}).pipeline.schedule, "gpipe");
  EXPECT_EQ(load(staged, {"layout=dp4"}).pipeline.schedule, "one_f_one_b");
  EXPECT_ERROR(load(staged, {"layout=dp4", "pipeline.schedule=gpipe"}),
               "read only with layout.pp = 2 or more");
  EXPECT_ERROR(load(staged, {"layout.pp=1"}), "read only with layout.pp = 2 or more");
}

/// Each line of these pages that trains an example on so many ranks at a layout in one word.
TEST(LayoutWord, OfThePagesFitsTheirExamples) {
  const std::filesystem::path docs = std::filesystem::path(RIESZ_GUIDE).parent_path().parent_path();
  const std::regex line("run train -n (\\d+) (examples/\\S+) (layout=\\S+)");
  int lines = 0;
  for (const char* page : {"reference/training.md", "guides/spatial.md", "guides/pixels_and_fields.md"}) {
    std::ifstream file(docs / page);
    for (std::string text; std::getline(file, text);) {
      std::smatch found;
      if (!std::regex_search(text, found, line)) continue;
      ++lines;
      const Config config = load_config(docs.parent_path() / found[2].str(), {found[3].str()});
      EXPECT_NO_THROW(check_config(config, std::stoi(found[1].str()))) << text;
    }
  }
  EXPECT_GE(lines, 3);
}

/// `key=` is as if nothing had set the key.
TEST(EmptyWord, SetsAKeyBack) {
  const std::string file =
      "[optimizer]\nbeta2 = 0.9\n[train]\nsteps = 7\n[data]\ntask = \"text\"\ntext = \"a\"\n";
  const Config config = load(file, {"train.steps=", "data.task=", "data.text=", "layout.space="});
  EXPECT_EQ(config.train.steps, Config().train.steps);
  EXPECT_EQ(config.data.task, "adder");
  EXPECT_EQ(config.data.text, "");
  EXPECT_FALSE(config.origins.contains("train.steps"));
  EXPECT_NO_THROW(load(file, {"optimizer.kind=sgd", "optimizer.beta2="}));
  EXPECT_ERROR(load(file, {"optimizer.kind=sgd"}), "optimizer.beta2 is set in ",
               "remove it (the word optimizer.beta2= on the command line does)");
  EXPECT_ERROR(load("", {"train.stpes="}), "unknown key");
}

TEST(EarlierKeys, AreRefusedWithTheirNewNames) {
  EXPECT_ERROR(load("", {"layout.rounds=2"}), "\"layout.rounds\" is no key any more; it is layout.panels");
  EXPECT_ERROR(load("", {"layout.keep=true"}), "it is layout.keep_gathered");
  EXPECT_ERROR(load("", {"layout.cheapest=true"}), "it is layout.least_traffic");
}

}  // namespace
}  // namespace riesz
