// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "riesz/train/config/nearest.h"

namespace riesz {
namespace {

using ::testing::HasSubstr;

TEST(Schema, HasEachKeyOnceWithAMeaning) {
  std::set<std::string> names;
  for (const Key& key : schema()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_EQ(find_key(key.name), &key);
  }
  EXPECT_GT(names.size(), 20u);
  EXPECT_EQ(find_key("train"), nullptr);
}

TEST(Schema, EachKeyHasAFieldOfItsOwn) {
  Config config;
  std::set<const void*> fields;
  for (const Key& key : schema()) {
    std::visit([&](auto field) { EXPECT_TRUE(fields.insert(&field(config)).second) << key.name; }, key.field);
  }
}

TEST(Schema, FindsTheNearestKey) {
  EXPECT_EQ(nearest_key("train.step"), "train.steps");
  EXPECT_EQ(nearest_key("train.learning_rate"), "optimizer.learning_rate");
  EXPECT_EQ(nearest_key("optimizer.learningrate"), "optimizer.learning_rate");
  EXPECT_EQ(nearest_key("layers"), "model.layers");
  EXPECT_EQ(nearest_key("train.dropout"), "model.dropout");
  EXPECT_EQ(nearest_key("data.txt"), "data.text");
  EXPECT_EQ(nearest_key("train.stpes"), "train.steps");
  EXPECT_EQ(nearest_key("trainsteps"), "train.steps");
  EXPECT_EQ(nearest_key("trian.batch"), "train.batch");
  EXPECT_EQ(nearest_key("layot"), "layout");
}

TEST(Schema, KnowsWhatOtherProgramsCallAKey) {
  EXPECT_EQ(nearest_key("lr"), "optimizer.learning_rate");
  EXPECT_EQ(nearest_key("optimizer.lr"), "optimizer.learning_rate");
  EXPECT_EQ(nearest_key("train.batch_size"), "train.batch");
  EXPECT_EQ(nearest_key("model.n_layer"), "model.layers");
  EXPECT_EQ(nearest_key("model.n_embd"), "model.width");
}

TEST(Nearest, IsByBeginningThenByDistance) {
  const std::vector<std::string> names{"--help", "--temperature", "--top-k", "evaluate", "train", "version"};
  EXPECT_EQ(nearest_of("--temp", names), "--temperature");
  EXPECT_EQ(nearest_of("--top_k", names), "--top-k");
  EXPECT_EQ(nearest_of("--hlep", names), "--help");
  EXPECT_EQ(nearest_of("eval", names), "evaluate");
  EXPECT_EQ(nearest_of("trian", names), "train");
  EXPECT_EQ(nearest_of("versoin", names), "version");
  for (const char* far : {"", "-", "--", "t", "fly", "--dtype"}) EXPECT_EQ(nearest_of(far, names), "") << far;
}

TEST(Schema, NamesNoKeyThatIsFar) {
  for (const char* name : {"foo", "x", "", "train.foo", "layout.x", "a.b.c"})
    EXPECT_EQ(nearest_key(name), "") << name;
}

TEST(Schema, SaysWhatAValueMustBe) {
  EXPECT_EQ(rule(*find_key("train.steps")), "an integer, 1 or more");
  EXPECT_EQ(rule(*find_key("data.digits")), "an integer from 1 to 3");
  EXPECT_EQ(rule(*find_key("model.dropout")), "a number from 0 to 0.99");
  EXPECT_EQ(rule(*find_key("model.tied")), "true or false");
  EXPECT_EQ(
      rule(*find_key("data.task")),
      "one of \"adder\", \"text\", \"tokens\", \"images\", \"cells\", \"darcy\", \"masks\", \"fields\"");
  EXPECT_EQ(rule(*find_key("device")), "one of \"cpu\", \"cuda\"");
  EXPECT_EQ(rule(*find_key("output.folder")), "a text");
  EXPECT_EQ(readers_text(*find_key("tf32")), "device = \"cuda\"");
}

TEST(Schema, WritesValuesAsToml) {
  Config config;
  config.optimizer.learning_rate = 3;
  config.optimizer.clip = 1e-10;
  config.data.text = "a \"b\"\x1b";
  EXPECT_EQ(value_text(*find_key("optimizer.learning_rate"), config), "3.0");
  EXPECT_EQ(value_text(*find_key("optimizer.clip"), config), "1e-10");
  EXPECT_EQ(value_text(*find_key("data.text"), config), "\"a \\\"b\\\"\\u001b\"");
  EXPECT_EQ(value_text(*find_key("train.steps"), config), "1000");
  EXPECT_EQ(value_text(*find_key("model.tied"), config), "false");
}

TEST(Schema, HelpHasEveryKeyWithItsDefaultAndRule) {
  const std::string help = schema_text();
  for (const Key& key : schema()) {
    EXPECT_THAT(help, HasSubstr(key.name));
    EXPECT_THAT(help, HasSubstr(rule(key)));
  }
}

TEST(Schema, TheGuideHasTheTableOfKeys) {
  std::ifstream file(RIESZ_GUIDE);
  const std::string guide{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(guide, HasSubstr(schema_markdown()))
      << "put what `riesz help keys --markdown` prints into docs/reference/training.md";
}

}  // namespace
}  // namespace riesz
