// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Checkpoints from which a training does not go on, and what it says of those from which it does.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../io/shared_folder.h"
#include "checkpointed.h"
#include "riesz/comm/runtime.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using testing::Checkpointed;
using testing::files_of;
using testing::SharedFolder;
using testing::with_checkpoints;

/// State that fits by its shapes alone is refused, as is that of another step.
TEST(Checkpoints, RefuseStateThatMeansSomethingElse) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.train.steps = 3;
  config.model.heads = 2;
  config.model.width = 8;
  Checkpointed(1, Runtime::size(), config, 3);
  config.resume = true;
  config.train.steps = 4;
  const auto resumed_with = [&](const auto& change) {
    Config other = config;
    change(other);
    Checkpointed(1, Runtime::size(), other, 4);
  };
  EXPECT_ERROR(
      resumed_with([](Config& c) { c.model.heads = 4; }), "cannot go on from", "checkpoint-3\"",
      "it is of model.heads = 2, and here it is model.heads = 4 (the default); set model.heads back to 2, "
      "or train the other model in another folder");
  EXPECT_ERROR(resumed_with([](Config& c) { c.model.epsilon = 1e-6; }), "of model.epsilon = 1e-05, and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.model.hidden = 16; }), "of model.hidden = 0, and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.model.width = 16; }),
               "of model.width = 8, and here it is model.width = 16");
  EXPECT_ERROR(resumed_with([](Config& c) { c.optimizer.kind = "sgd"; }),
               "it is of optimizer.kind = \"adamw\", and here it is optimizer.kind = \"sgd\" (the default); "
               "set optimizer.kind back to \"adamw\", or begin anew with its weights: model.from=\"",
               "checkpoint-3\", in another output.folder, without --resume");
  EXPECT_ERROR(resumed_with([](Config& c) { c.precision = "bf16"; }), "of precision = \"fp32\", and here");
  EXPECT_ERROR(resumed_with([](Config& c) { c.compute = "fp16"; }), "of compute = \"same\", and here");

  const auto renamed = [&](const char* from, const char* to) {
    if (Runtime::rank() == 0) std::filesystem::rename(folder.path() / from, folder.path() / to);
    wait_for_all(Partition::world());
  };
  renamed("checkpoint-3", "checkpoint-2");
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), config, 4),
               "checkpoint-2\" is named by step 2, and its state.json says "
               "step 3; if it was renamed, name it checkpoint-3 again");
  renamed("checkpoint-2", "checkpoint-3");
  const auto same_sizes = [](Config& c) { c.model.hidden = 32, c.compute = "bf16", c.model.dropout = 0; };
  EXPECT_NO_THROW(resumed_with(same_sizes));

  if (Runtime::rank() == 0) {  // words too long to be repeated
    const std::filesystem::path path = folder.path() / "checkpoint-4/state.json";
    std::string text = files_of(folder.path() / "checkpoint-4").at("state.json");
    const std::string kind = "\"adamw\"";
    text.replace(text.find(kind), kind.size(), "\"" + std::string(200'000, 'x') + "\"");
    std::ofstream(path) << text;
  }
  wait_for_all(Partition::world());
  EXPECT_ERROR(resumed_with([](Config&) {}), "it is of optimizer.kind = \"xxx", "xx …, and here");
}

/// The tensor is named, not the gradient that its NaN comes to in the next step.
TEST(Checkpoints, RefuseNumbersThatAreNotFinite) {
  for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
    const SharedFolder folder;
    Config config = with_checkpoints(folder.path());
    config.train.steps = 3;
    Checkpointed(1, Runtime::size(), config, 3);
    if (Runtime::rank() == 0) {
      std::fstream bytes(folder.path() / "checkpoint-3" / file,
                         std::ios::in | std::ios::out | std::ios::binary);
      std::uint64_t head = 0;
      bytes.read(reinterpret_cast<char*>(&head), sizeof head);
      bytes.seekg(0, std::ios::end);
      const auto data = static_cast<std::int64_t>(sizeof head + head), end = std::int64_t{bytes.tellg()};
      bytes.seekp(data + (end - data) / 16 * 8);  // in the middle, far from the numbers of steps
      bytes.write("\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    }
    wait_for_all(Partition::world());
    config.resume = true;
    config.train.steps = 4;
    EXPECT_ERROR(Checkpointed(1, Runtime::size(), config, 4), "checkpoint-3\": tensor \"",
                 "has 1 numbers that are not finite", "an earlier checkpoint");
  }
}

/// What is not as it was is said; what cannot be is refused, before anything is written.
TEST(Checkpoints, SayWhatIsNotAsItWas) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path() / "a");
  config.train.steps = 3;
  Config resumed = config;
  resumed.resume = true;
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), resumed, 3), "there is no checkpoint in", "checkpoint.every");
  Checkpointed(1, Runtime::size(), config, 3);
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), config, 3),
               "has checkpoints of an earlier training, the last of step 3", "--resume");
  Config without = config;
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), without, 3), "a\" has checkpoints of an earlier training",
               "go on from it with --resume, or remove them, or choose another checkpoint.folder");
  without.output.folder = config.checkpoint.folder;
  without.checkpoint.folder = "";
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), without, 3), "or choose another output.folder");
  without.checkpoint.folder = (folder.path() / "b").string();
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), without, 3), "a\" has checkpoints of an earlier training",
               "--resume, without checkpoint.folder, or remove them, or choose another output.folder");
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), resumed, 3), "checkpoint-3",
               "has made 3 steps of train.steps = 3");
  resumed.model.kind = "llama";
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), resumed, 3), "cannot go on from", "checkpoint-3",
               "it is of model.kind = \"gpt2\", and here it is model.kind = \"llama\" (the default)");
  resumed.model.kind = "gpt2";
  resumed.optimizer.learning_rate = 0.02;
  resumed.train.seed = 2;
  EXPECT_ERROR(
      Checkpointed(1, Runtime::size(), resumed, 3),
      "of train.steps = 3 (the default); say more to go on; since then: the data are not those of the "
      "checkpoint, so ",
      "different rows; optimizer.learning_rate was 0.01, and is 0.02; train.seed was 1, and is 2");
  resumed.train.steps = 4;
  resumed.layout.zero = 1;
  resumed.device = "cuda";  // a state is of no device
  const Checkpointed session(1, Runtime::size(), resumed, 4);
  const std::vector<std::string> notes{"optimizer.learning_rate was 0.01, and is 0.02",
                                       "train.seed was 1, and is 2", "train.steps was 3, and is 4"};
  std::vector<std::string> found = session.beginning.notes;
  ASSERT_EQ(found.size(), 4u);
  EXPECT_NE(found[0].find("the data are not those"), std::string::npos);
  found.erase(found.begin());
  EXPECT_EQ(found, notes);
  resumed.train.steps = 5;
  resumed.optimizer.kind = "sgd";
  EXPECT_ERROR(Checkpointed(1, Runtime::size(), resumed, 4), "it is of optimizer.kind = \"adamw\", and here");
}

TEST(Checkpoints, SayWhatIsNoState) {
  const SharedFolder folder;
  Config config = with_checkpoints(folder.path());
  config.resume = true;
  const auto resumed_from = [&](const std::string& state) {
    const auto path = folder.path() / "checkpoint-2";
    if (Runtime::rank() == 0) std::filesystem::create_directories(path);
    if (Runtime::rank() == 0) std::ofstream(path / "state.json") << state;
    wait_for_all(Partition::world());
    Checkpointed(1, Runtime::size(), config, 3);
  };
  const std::string what = "state.json\": it is no training's state in format 1";
  EXPECT_ERROR(resumed_from(R"({"format": 1, "step": -2, "configuration": {}})"), what);
  EXPECT_ERROR(resumed_from(R"({"format": "1", "step": 2, "configuration": {}})"), what);
  EXPECT_ERROR(resumed_from(R"({"format": 1, "st)"),
               "state.json\": it is no JSON: it ends too early, after 17",
               "to go on from an earlier checkpoint, move the folder", "checkpoint-2\" away");
  EXPECT_ERROR(resumed_from(R"({"format": 1 damaged})"), "it is no JSON from byte 14 of 21 on, \"damaged}\"");
  EXPECT_ERROR(resumed_from(R"({"format": 1e999})"), "it is no JSON: a number in it is too great");
  EXPECT_ERROR(resumed_from(R"({"format": 1, "step": 2, "configuration": {}, "data": 7})"),
               "has neither model.safetensors");
}

}  // namespace
}  // namespace riesz
