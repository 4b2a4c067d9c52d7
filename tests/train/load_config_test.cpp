// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/config/load_config.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "../io/temporary_folder.h"
#include "riesz/comm/error.h"
#include "riesz/testing/error.h"
#include "riesz/train/config/layout.h"
#include "riesz/train/config/schema.h"

namespace riesz {
namespace {

using testing::TemporaryFolder;
using Words = std::vector<std::string>;

/// A configuration of this text and these words.
Config load(const std::string& toml, const Words& words = {}) {
  const TemporaryFolder folder;
  return load_config(folder.write("my_run.toml", toml), words);
}

TEST(LoadConfig, KeepsDefaultsAndTakesTheFilesValues) {
  const Config config = load(
      "precision = \"bf16\"\n[train]\nsteps = 7\n[optimizer]\nlearning_rate = 0.5\n[output]\nprogress = "
      "\"log\"\n");

  EXPECT_EQ(config.train.steps, 7);
  EXPECT_EQ(config.optimizer.learning_rate, 0.5);
  EXPECT_EQ(config.precision, "bf16");
  EXPECT_EQ(config.output.progress, "log");
  EXPECT_EQ(config.train.batch, Config().train.batch);
  EXPECT_EQ(config.output.folder, "runs/my_run");
}

TEST(LoadConfig, WordsGoOverTheFileTheLastOneFirst) {
  const Config config = load("train.steps = 7", {"train.steps=8", "optimizer.learning_rate=1",
                                                 "train.steps=9", "output.folder=out"});

  EXPECT_EQ(config.train.steps, 9);
  EXPECT_EQ(config.optimizer.learning_rate, 1.0);  // an integer is a number too
  EXPECT_EQ(config.output.folder, "out");
}

TEST(LoadConfig, AWordThatIsNoTomlIsAText) {
  const Words task = {"data.task=text"};
  const auto text = [&](const std::string& word) { return load("", {task[0], word}).data.text; };

  EXPECT_EQ(text("data.text=README.md"), "README.md");
  EXPECT_EQ(text("data.text=\"with quotes\""), "with quotes");
  EXPECT_EQ(text("data.text=1234"), "1234");
  EXPECT_EQ(text("data.text=a=b"), "a=b");
  EXPECT_EQ(text("data.text=/tmp/a b"), "/tmp/a b");
}

/// Names of very many parts, in all places of TOML that can have one.
TEST(LoadConfig, RefusesNamesOfManyParts) {
  std::string parts = "a";
  for (int i = 0; i < 50000; ++i) parts += ".a";
  for (const std::string& text :
       {parts + " = 1", "[" + parts + "]", "[[" + parts + "]]", "x = {" + parts + " = 1}",
        "x = [\n'a',\n{" + parts + " = 1}]",
        "x = " + std::string(3, '"') + "\na" + std::string(3, '"') + "\n" + parts + " = 1"})
    EXPECT_ERROR(load(text), "my_run.toml, line ", "a name of more than 100 parts");
  EXPECT_ERROR(load("[train]\nsteps = 1\n" + parts + " = 1"), "my_run.toml, line 3: a name of more than");
  EXPECT_ERROR(load("", {"train.steps=1\n" + parts + "=1"}), "train.steps is", "it must be an integer");
  const std::string dots(300, '.');
  const auto text = [](const std::string& value) {
    return load("[data]\ntask = 'text'\ntext = " + value).data.text;
  };
  EXPECT_EQ(text("\"/" + dots + "\" # " + dots + "\n# " + dots), "/" + dots);
  const std::string raw(3, '\'');
  EXPECT_EQ(text(raw + "/" + dots + "\\" + raw), "/" + dots + "\\");
}

TEST(LoadConfig, PathsInTheFileStartFromItsFolder) {
  const TemporaryFolder folder;
  const auto file = folder.write("sub/a.toml", "[data]\ntask = \"text\"\ntext = \"../b.md\"\n");

  EXPECT_EQ(load_config(file, {}).data.text, (folder.path() / "b.md").string());
  EXPECT_EQ(load_config(file, {"data.text=c.md"}).data.text, "c.md");
  const auto up = folder.write("sub/b.toml", "[data]\ntask = \"text\"\ntext = \"..\"\n");
  EXPECT_EQ(load_config(up, {}).data.text, folder.path().string());
}

TEST(LoadConfig, WhatItWritesReadsBackTheSame) {
  const Words words = {"data.task=text",   "data.text=/x\"y", "optimizer.learning_rate=0.1",
                       "optimizer.clip=3", "precision=fp16",  "optimizer.kind=sgd",
                       "layout.dp=2",      "output.folder=o"};
  const Config config = load("", words);

  EXPECT_EQ(to_toml(load(to_toml(config))), to_toml(config));
  EXPECT_EQ(load(to_toml(config)).optimizer.learning_rate, 0.1);
  EXPECT_EQ(load(to_toml(config)).data.text, "/x\"y");
}

TEST(LoadConfig, UnknownKeysNameTheNearest) {
  EXPECT_ERROR(load("[train]\nstep = 3"), "my_run.toml", "unknown key \"train.step\"",
               "did you mean \"train.steps\"?");
  EXPECT_ERROR(load("", {"model.layer=3"}), "\"model.layer=3\" on the command line",
               "did you mean \"model.layers\"?");
  EXPECT_ERROR(load("steps = 3"), "unknown key \"steps\"", "did you mean \"train.steps\"?");
  EXPECT_ERROR(load("train = 3"), "unknown key \"train\"");
  EXPECT_ERROR(load("[train]\nbeta1 = 0.9"), "unknown key \"train.beta1\"",
               "did you mean \"optimizer.beta1\"?");
  EXPECT_ERROR(load("", {"foo=1"}), "unknown key \"foo\"; `riesz train --help` lists all keys");
}

TEST(LoadConfig, WhatItRepeatsHasNoControlCharacters) {
  EXPECT_ERROR(load("", {"\x1b[31mfoo=1"}), "\"\\u001b[31mfoo=1\" on the command line",
               "unknown key \"\\u001b[31mfoo\"");
  EXPECT_ERROR(load("", {"train.steps=\x1b[2J"}), "train.steps is \"\\u001b[2J\"");
  EXPECT_ERROR(load("", {"a\nb"}), "\"a\\nb\" on the command line is no setting");
  EXPECT_ERROR(load_config("no\x1b[31mne.toml", {}), "\"no\\u001b[31mne.toml\"");
}

TEST(LoadConfig, AWordIsOneSetting) {
  const std::string two = "holds two settings, train.steps and train.batch; write them as two words";
  EXPECT_ERROR(load("", {"train.steps=3 train.batch=4"}),
               "\"train.steps=3 train.batch=4\" on the command line", two);
  EXPECT_ERROR(load("", {"train.steps=3\ntrain.batch=4"}), two);
  EXPECT_ERROR(load("", {"output.folder=a b train.batch=4"}), "two settings, output.folder and train.batch");
  EXPECT_ERROR(load("", {"train.steps=3\nother=4"}), "train.steps is \"3\\nother=4\"", "must be an integer");
  EXPECT_EQ(load("", {"output.folder=a b=c"}).output.folder, "a b=c");
}

TEST(LoadConfig, WrongTypesNameTheValueAndTheRule) {
  EXPECT_ERROR(load("[train]\nsteps = \"many\""), "my_run.toml: train.steps is", "many",
               "must be an integer, 1 or more");
  EXPECT_ERROR(load("[train]\nsteps = 1.5"), "train.steps is 1.5", "must be an integer");
  EXPECT_ERROR(load("[train]\nsteps = true"), "train.steps is true", "must be an integer");
  EXPECT_ERROR(load("[model]\ntied = 1"), "model.tied is 1", "must be true or false");
  EXPECT_TRUE(load("[model]\ntied = true").model.tied);
  EXPECT_FALSE(load("[model]\ntied = true", {"model.tied=false"}).model.tied);
  EXPECT_ERROR(load("[optimizer]\nclip = [1]"), "optimizer.clip is [", "must be a number");
  EXPECT_ERROR(load("[train.steps]\na = 1"), "train.steps is a table", "must be an integer");
  EXPECT_ERROR(load("[data]\ntask = 3"), "data.task is 3", "one of \"adder\", \"text\"");
  EXPECT_ERROR(load("", {"train.steps=many"}), "\"train.steps=many\" on the command line",
               "must be an integer");
}

TEST(LoadConfig, ValuesOutOfRangeNameTheRange) {
  EXPECT_ERROR(load("", {"train.steps=0"}), "train.steps is 0", "1 or more");
  EXPECT_ERROR(load("", {"model.dropout=1"}), "model.dropout is 1", "from 0 to 0.99");
  EXPECT_ERROR(load("", {"optimizer.learning_rate=nan"}), "optimizer.learning_rate is nan", "from 0 to 10");
  EXPECT_ERROR(load("", {"optimizer.learning_rate=-nan"}), "optimizer.learning_rate is nan", "from 0 to 10");
  EXPECT_ERROR(load("", {"data.task=words"}), "data.task is", "words", "one of");
  EXPECT_ERROR(load("", {"train.batch=-4"}), "train.batch is -4");
}

TEST(LoadConfig, BrokenInputIsNamed) {
  const TemporaryFolder folder;
  EXPECT_ERROR(load("[train\nsteps = 3"), "my_run.toml, line 1");
  EXPECT_ERROR(load_config(folder.path() / "none.toml", {}), "there is no configuration file", "none.toml");
  EXPECT_ERROR(load_config(folder.path(), {}), "the configuration", "is a folder; name a file in it");
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_ERROR(load_config(pipe, {}), "pipe\" is a pipe or a device", "write it into a file");
  std::filesystem::create_symlink("loop", folder.path() / "loop");
  EXPECT_ERROR(load_config(folder.path() / "loop", {}), "cannot read the configuration file",
               "loop\": Too many");
  EXPECT_ERROR(load_config(std::string(300, 'a'), {}),
               "aaa\" (300 bytes): File name too long; name one that can be read");
  EXPECT_ERROR(load("", {"steps"}), "\"steps\" on the command line is no setting", "key=value");
  EXPECT_ERROR(load("", {"=3"}), "is no setting");
  EXPECT_ERROR(load("", {"my.toml"}), "is no setting; a configuration comes before all settings");
}

TEST(LoadConfig, KeysThatNobodyReadsAreNamed) {
  EXPECT_ERROR(load("", {"data.text=README.md"}), "data.text is set on the command line",
               "which is read only with data.task = \"text\", but data.task is \"adder\"", "data.task=text");
  EXPECT_ERROR(load("[data]\ndigits = 2", {"data.task=text"}), "data.digits is set in ", "my_run.toml",
               "read only with data.task = \"adder\"");
  EXPECT_ERROR(load("", {"optimizer.beta2=0.5", "optimizer.kind=sgd"}), "optimizer.beta2 is set",
               "\"adamw\" or", "optimizer.kind is \"sgd\"", "but optimizer.kind is \"sgd\"; remove it");
  EXPECT_ERROR(load("", {"schedule.growth=2"}), "read only with schedule.kind = \"range_test\"");
  for (const char* key : {"schedule.least_momentum=0.5", "schedule.greatest_momentum=0.5"}) {
    EXPECT_ERROR(load("", {key}), "read only with schedule.kind = \"one_cycle\", but");
    EXPECT_ERROR(load("", {key, "schedule.kind=one_cycle", "optimizer.kind=adafactor"}),
                 "\"lamb\" or \"one_bit_adam\", but optimizer.kind is \"adafactor\"");
  }
  EXPECT_EQ(load("", {"schedule.least_momentum=0.5", "schedule.kind=one_cycle"}).schedule.least_momentum,
            0.5);
  EXPECT_ERROR(load("", {"pipeline.schedule=gpipe"}),
               "read only with layout.pp = 2 or more, but layout.pp is 1; remove it, or set layout.pp=2");
}

/// The default configuration with these words, checked for a job of one rank unless another is given.
void check(const Words& words, int ranks = 1) { check_config(load("", words), ranks); }

TEST(CheckConfig, NamesBothSidesOfTheLayout) {
  EXPECT_NO_THROW(check({"layout.dp=2", "layout.tp=3"}, 6));
  EXPECT_ERROR(
      check({"layout.dp=2", "layout.tp=2"}, 3), "layout.dp x layout.sp x layout.tp = 2 x 1 x 2",
      "the job has 3 ranks; start 4 ranks with mpirun -n, or set these keys so that their product is 3; "
      "on 3 ranks: layout.dp = 1, layout.tp = 3, or layout.dp = 3, layout.tp = 1");
  EXPECT_ERROR(check({"layout.tp=2"}), "1 x 1 x 2 workers", "the job has 1 rank;",
               "on 1 rank: layout.dp = 1, layout.tp = 1");
  EXPECT_ERROR(check({"layout.sp=2"}, 3), "on 3 ranks: layout.dp = 1, layout.sp = 1, layout.tp = 3, or");
  EXPECT_ERROR(check({"layout.tensor=2d"}, 3), "the job has 3 ranks; start 1 rank with",
               "on 3 ranks there is no \"2d\", but \"1d\", \"sp\"");
  EXPECT_ERROR(check({"layout.dp=4294967296", "layout.tp=4294967296"}, 4), "4 ranks; start as many with");
}

TEST(CheckConfig, SaysWhichLayoutsARanksAllow) {
  for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
    EXPECT_NO_THROW(check({concat("layout.tensor=", tensor), "layout.tp=8", "layout.dp=2"}, 16)) << tensor;
    EXPECT_NO_THROW(check({concat("layout.tensor=", tensor)})) << tensor << " on one worker";
  }
  EXPECT_NO_THROW(check({"layout.tensor=2d", "layout.tp=6", "layout.sequence=ring", "layout.sp=2"}, 12));
  EXPECT_ERROR(check({"layout.tensor=3d", "layout.tp=4"}, 4),
               "layout.tensor = \"3d\" needs layout.tp workers", "a cube: 8, 27", "not 4",
               "; on 4 ranks there is no \"3d\", but \"1d\", \"sp\", \"2d\"");
  EXPECT_ERROR(check({"layout.tensor=2d", "layout.tp=3"}, 3), "rows x columns",
               "on 3 ranks there is no \"2d\", but \"1d\", \"sp\"");
  EXPECT_ERROR(check({"layout.tensor=2.5d", "layout.dp=3", "layout.tp=2"}, 6), "depth x rows x rows", "not 2",
               "on 6 ranks there is no \"2.5d\", but \"1d\", \"sp\", \"2d\"");
  EXPECT_ERROR(check({"layout.tensor=4d"}), "layout.tensor",
               "one of \"1d\", \"sp\", \"2d\", \"2.5d\", \"3d\"");
}

TEST(CheckConfig, SaysHowTheJobsRanksMakeTheLayout) {
  EXPECT_ERROR(check({"layout.tensor=2d", "layout.dp=2", "layout.tp=2"}, 4),
               "layout.tensor = \"2d\" needs layout.tp workers", "rows x columns", "not 2",
               "; on 4 ranks: layout.dp = 1, layout.tp = 4");
  EXPECT_ERROR(check({"layout.tensor=3d", "layout.dp=4", "layout.tp=4"}, 16),
               "; on 16 ranks: layout.dp = 2, layout.tp = 8");
  EXPECT_ERROR(check({"layout.tensor=2d", "layout.dp=24", "layout.tp=2"}, 48),
               "; on 48 ranks: layout.dp = 1, layout.tp = 48, or layout.dp = 2, layout.tp = 24, or "
               "layout.dp = 3, layout.tp = 16, or layout.dp = 4, layout.tp = 12 …");
  EXPECT_ERROR(check({"layout.tensor=2d", "layout.tp=2", "layout.sp=2", "layout.sequence=ring"}, 4),
               "; on 4 ranks there is no \"2d\" with layout.sequence = \"ring\", but \"1d\", \"sp\"");
  EXPECT_ERROR(check({"layout.tensor=2d", "layout.tp=2", "layout.sp=4", "layout.sequence=ulysses"}, 8),
               "; on 8 ranks: layout.dp = 1, layout.sp = 2, layout.tp = 4");
}

TEST(CheckConfig, SaysWhoSharesTheSequence) {
  EXPECT_ERROR(check({"layout.sp=2"}, 2), "layout.sp = 2 workers share each sequence",
               "layout.sequence = \"none\" leaves it whole", "\"ring\" or \"ulysses\", or layout.sp to 1; ",
               "on 2 ranks: layout.dp = 1, layout.sp = 1, layout.tp = 2, or");
  for (const char* sequence : {"ring", "ulysses"}) {
    const std::string word = concat("layout.sequence=", sequence);
    const std::string text =
        concat("layout.sequence = \"", sequence, "\" shares each sequence among layout.sp workers, but ");
    EXPECT_NO_THROW(check({word})) << "one worker";
    EXPECT_ERROR(check({word, "layout.tp=2"}, 2), text, "layout.sp = 1 leaves it whole",
                 "set layout.sequence to \"none\", or layout.sp above 1",
                 "; on 2 ranks: layout.dp = 1, layout.sp = 2, layout.tp = 1");
    EXPECT_ERROR(
        check({word, "layout.dp=4"}, 4), text,
        "; on 4 ranks: layout.dp = 1, layout.sp = 2, layout.tp = 2, or layout.dp = 1, layout.sp = 4, "
        "layout.tp = 1, or layout.dp = 2, layout.sp = 2, layout.tp = 1");
  }
}

TEST(CheckConfig, SaysWhatFitsAPipeline) {
  const auto checked = [](Words words, int ranks = 4) {
    words.emplace_back("layout.pp=4");
    check(words, ranks);
  };
  for (const char* schedule :
       {"one_f_one_b", "gpipe", "interleaved", "varuna", "zb_h1", "zb_h2", "zb_v", "v_half", "v_min"})
    EXPECT_NO_THROW(checked({concat("pipeline.schedule=", schedule)})) << schedule;
  EXPECT_ERROR(checked({"layout.tp=2"}), "layout.pp x layout.dp x layout.sp x layout.tp = 4 x 1 x 1 x 2",
               "on 4 ranks with layout.pp = 4: layout.dp = 1, layout.tp = 1");
  EXPECT_ERROR(checked({}, 6), "the job has 6 ranks", "on 6 ranks: layout.pp = 6 or 3 or 2 or 1");
  EXPECT_ERROR(checked({"layout.tensor=2d", "layout.tp=2"}, 8),
               "not 2; on 8 ranks with layout.pp = 4 there ");
  EXPECT_ERROR(checked({"pipeline.schedule=zb_v", "pipeline.chunks=3"}), "pipeline.chunks = 3 (on the",
               "with pipeline.schedule = \"zb_v\" (on the command line) a worker has 2 stages; set "
               "pipeline.chunks to 2, or pipeline.schedule to \"interleaved\"");
  EXPECT_ERROR(checked({"pipeline.chunks=2"}), "a worker has 1 stage; ", "\"v_min\", which have 2");
  EXPECT_ERROR(checked({"train.micro_batches=65"}),
               "train.micro_batches = 65 (on the command line) are more parts than there are sequences",
               "train.batch = 64 (the default)", "set train.micro_batches to 64 or less");
  EXPECT_NO_THROW(checked({"train.micro_batches=64"}));
  EXPECT_ERROR(
      checked({"pipeline.micro_batches=8"}),
      "\"pipeline.micro_batches=8\" on the command line: \"pipeline.micro_batches\" is no key any more; "
      "train.micro_batches says how many parts a batch has");
  EXPECT_ERROR(checked({"train.batch=7"}), "train.micro_batches = 8 (twice layout.pp)", "to 7 or less");
  EXPECT_ERROR(checked({"pipeline.schedule=interleaved", "train.micro_batches=6"}),
               "is no multiple of layout.pp = 4", "set it to 8 or 4");
  EXPECT_ERROR(checked({"pipeline.partition=sagemaker"}),
               "runs with pipeline.schedule = \"gpipe\", not with ");
  EXPECT_ERROR(checked({"pipeline.partition=names"}), "takes pipeline.names, such as ");
  for (const char* names : {"lm_head", "lm_head=4", "lm_head=-1", "lm_head=", "=1", "a=1 lm_head=b"})
    EXPECT_ERROR(checked({"pipeline.partition=names", concat("pipeline.names=", names)}),
                 "is no pattern and its stage, of 0 to 3");
}

/// Is the config of this layout right for a job of so many ranks?
bool fits(const Config::Layout& layout, int ranks) {
  Config config;
  config.layout = layout;
  try {
    check_config(config, ranks);
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(LayoutsOn, AreThoseThatAreNotRefused) {
  std::size_t possible = 0;
  for (int ranks = 1; ranks <= 32; ++ranks) {
    for (const char* tensor : {"1d", "sp", "2d", "2.5d", "3d"}) {
      for (const char* sequence : {"none", "ring", "ulysses"}) {
        SCOPED_TRACE(concat(tensor, ", ", sequence, " on ", ranks));
        const auto listed = layouts_on(ranks, tensor, sequence);
        for (const Config::Layout& layout : listed) {
          EXPECT_TRUE(fits(layout, ranks)) << layout.dp << " " << layout.sp << " " << layout.tp;
        }
        std::size_t fitting = 0;
        for (int tp = 1; tp <= ranks; ++tp) {
          for (int sp = 1; ranks % tp == 0 && sp <= ranks / tp; ++sp) {
            if (tp == 1 && tensor != std::string("1d") && ranks > 1) continue;  // by name only
            const std::int64_t dp = ranks / tp / sp;
            fitting += fits({.dp = dp, .tp = tp, .sp = sp, .tensor = tensor, .sequence = sequence}, ranks);
          }
        }
        EXPECT_EQ(listed.size(), fitting);
        possible += fitting;
      }
    }
  }
  EXPECT_GT(possible, 500U);
}

TEST(LayoutAxes, AreAsSquareAsTheyGo) {
  const auto text = [](const std::string& tensor, std::int64_t tp, const std::string& sequence = "none") {
    std::string axes;
    for (const Axis& axis : layout_axes(
             {.dp = 2, .tp = tp, .sp = sequence == "none" ? 1 : 3, .tensor = tensor, .sequence = sequence}))
      axes += concat(axis.name, "=", axis.extent, " ");
    return axes;
  };
  EXPECT_EQ(text("1d", 4), "dp=2 tp=4 ");
  EXPECT_EQ(text("sp", 4, "ring"), "dp=2 sp=3 tp=4 ");
  EXPECT_EQ(text("2d", 12), "dp=2 row=3 column=4 ");
  EXPECT_EQ(text("2.5d", 12), "dp=2 depth=3 row=2 column=2 ");
  EXPECT_EQ(text("2.5d", 16), "dp=2 depth=4 row=2 column=2 ");
  EXPECT_EQ(text("3d", 27), "dp=2 a=3 b=3 c=3 ");
}

TEST(CheckConfig, NamesSizesThatDoNotFitTogether) {
  EXPECT_NO_THROW(check({}));
  EXPECT_ERROR(check({"model.width=50"}),
               "model.width = 50 (on the command line) is no multiple of model.heads = 3 (the default)");
  EXPECT_ERROR(check({"model.width=45", "model.kind=llama"}),
               "model.width = 45 (on the command line) gives each", "a width of 15", "it must be even");
  EXPECT_ERROR(check({"model.kind=llama", "model.key_value_heads=2"}),
               "model.heads = 3 (the default) is no multiple", "model.key_value_heads = 2");
  EXPECT_ERROR(check({"model.kind=gptj", "model.rotary_dims=18"}), "model.rotary_dims = 18", "of at most 16");
  EXPECT_ERROR(check({"model.kind=gptj", "model.tied=true"}), "model.tied is set on the command line");
  EXPECT_NO_THROW(check({"model.kind=gptj", "model.width=45", "model.rotary_dims=2"}));
  EXPECT_NO_THROW(check({"model.kind=vit", "data.task=images", "data.images=x", "model.width=45"}));
  EXPECT_EQ(load("", {"model.kind=llama"}).model.activation, "silu");
  EXPECT_EQ(load("", {"model.kind=llama", "model.activation=gelu"}).model.activation, "gelu");
  EXPECT_ERROR(check({"schedule.floor=1", "optimizer.learning_rate=0.5"}),
               "schedule.floor = 1.0 (on the command line) is above optimizer.learning_rate = 0.5");
  EXPECT_ERROR(check({"schedule.kind=range_test"}), "starts from schedule.floor, which is 0");
  EXPECT_ERROR(check({"train.micro_batches=65"}),
               "train.micro_batches = 65 (on the command line) is more than",
               "train.batch = 64 (the default)");
  EXPECT_ERROR(check({"optimizer.kind=one_bit_adam", "optimizer.clip=0", "layout.zero=2"}), "layout.zero = 2",
               "whole momenta");
  EXPECT_ERROR(check({"optimizer.kind=one_bit_adam"}), "optimizer.clip = 1", "set optimizer.clip to 0");
  EXPECT_ERROR(check({"model.context=5"}), "model.context = 5 (on the command line) is too short",
               "data.digits = 2 (the default): 6 tokens");
  EXPECT_ERROR(check({"data.task=text"}), "data.text names no file");
}

TEST(CheckConfig, RefusesSizesThatNoMachineHas) {
  const auto check = [](const Words& words) { check_config(load("", words), 1); };
  const std::string most = "9223372036854775807";
  EXPECT_ERROR(check({"model.context=" + most, "model.width=24", "model.heads=2"}),
               "the position table takes 768 EiB: lower model.context = " + most);
  EXPECT_ERROR(check({"model.width=" + most, "model.heads=1"}), "a weight of the MLP takes",
               "lower model.width = ");
  EXPECT_ERROR(check({"model.hidden=" + most}), "a weight of the MLP takes", "model.hidden = " + most);
  EXPECT_NO_THROW(check({"model.context=131072", "model.width=16384", "model.heads=2"}));
}

TEST(CheckConfig, SaysWhichFileHasAKey) {
  const auto both = [](const std::string& toml, const Words& words) { check_config(load(toml, words), 1); };
  EXPECT_ERROR(both("[schedule]\nwarm_up = 40", {"train.steps=20"}), "schedule.warm_up = 40 (in ",
               "my_run.toml) must be less than train.steps = 20 (on the command line)",
               "set schedule.warm_up below it, or to 0");
  EXPECT_ERROR(both("[train]\nsteps = 20", {}), "schedule.warm_up = 100 (the default) must be less than",
               "train.steps = 20 (in ");
  EXPECT_NO_THROW(both("[schedule]\nwarm_up = 40", {"train.steps=20", "schedule.warm_up=19"}));
}

}  // namespace
}  // namespace riesz
