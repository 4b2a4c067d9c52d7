// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A model's folder, from its prompt to what is printed, on any number of ranks and at any layout.
#include "riesz/app/jobs/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>

#include "../io/shared_folder.h"
#include "riesz/app/jobs/evaluate.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

using ::testing::HasSubstr;

/// A small Llama of its own weights with a tokenizer of 261 tokens.
class GenerateFolder : public ::testing::Test {
 protected:
  GenerateFolder() {
    models::LlamaConfig config{.layers = 3, .heads = 6, .key_value_heads = 3, .width = 24};
    config.hidden = 20, config.vocabulary = 261, config.context = 24;
    const Partition all = Partition::world().grid({{"tp", Runtime::size()}});
    const auto model = models::make_causal_model(spaces::one_d(all), config);
    model->module().initialise(7, at::kFloat);
    const auto parameters = model->module().parameters();
    save_checkpoint(
        folder_, all,
        {state_of_values(parameters), published_shapes(parameters), {{"config.json", config_json(config)}}});
    if (Runtime::rank() == 0)
      write_tokenizer(learn_tokenizer({"the thesis then"}, {.vocabulary = 261}), folder_);
    wait_for_all(Partition::world());
  }

  void write(const std::string& name, const std::string& text) {
    wait_for_all(Partition::world());  // who may still read it
    if (Runtime::rank() == 0) std::ofstream(folder_ / name) << text;
    wait_for_all(Partition::world());
  }

  app::GenerateWords words(const std::string& prompt, app::ModelWords model = {}) {
    model.folder = folder_.string();
    return {.model = model, .prompt = prompt, .tokens = 8};
  }

  /// What the first rank prints.
  std::string printed(const app::GenerateWords& words) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    std::exception_ptr thrown;  // which is not to be said while nobody sees it
    try {
      app::generate_text(words);
    } catch (...) {
      thrown = std::current_exception();
    }
    said_ = ::testing::internal::GetCapturedStderr();
    const std::string text = ::testing::internal::GetCapturedStdout();
    if (thrown) std::rethrow_exception(thrown);
    return collect_texts(Partition::world(), text).front();
  }

  SharedFolder shared_;
  std::filesystem::path folder_ = shared_.path() / "model";
  std::string said_;
};

std::vector<app::ModelWords> layouts() {
  const int p = Runtime::size();
  std::vector<app::ModelWords> all{{.dp = p}, {.sp = p}, {.tensor = "sp"}};
  if (p % 2 == 0) all.push_back({.pp = 2});
  return all;
}

TEST_F(GenerateFolder, WritesTheSameAtEveryLayout) {
  app::GenerateWords drawn = words("the then");
  drawn.temperature = 1.5;
  drawn.seed = 5;
  const std::string greedy = printed(words("the then")), text = printed(drawn);
  EXPECT_NE(greedy, text);
  if (Runtime::rank() == 0) {
    EXPECT_THAT(said_, HasSubstr("; wrote "));
    EXPECT_THAT(said_, HasSubstr("; 1 ended: "));
  }
  for (const app::ModelWords& layout : layouts()) {
    drawn.model = words("", layout).model;
    EXPECT_EQ(printed(drawn), text) << layout.dp << layout.sp << layout.pp << layout.tensor;
  }
  app::EvaluateWords evaluated{.model = words("").model, .text = (folder_ / "merges.txt").string()};
  evaluated.options.window = 16;
  const std::string report = app::evaluate_report(evaluated);
  app::EvaluateWords of_a_folder = evaluated;
  of_a_folder.text = folder_.string();
  EXPECT_ERROR(app::evaluate_report(of_a_folder), "is a folder; name a text file in it");
  EXPECT_THAT(report, HasSubstr(" of them scored in "));
  EXPECT_THAT(report, HasSubstr("loss 5.5"));  // of 261 tokens: near ln 261 = 5.56
}

/// A loss that is no number is no success; it is printed all the same, and where it comes from.
TEST_F(GenerateFolder, RefusesALossThatIsNotFinite) {
  wait_for_all(Partition::world());
  if (Runtime::rank() == 0) {
    std::fstream file(folder_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-96, std::ios::end);  // the last norm's weights, of which all are the greatest number
    for (int i = 0; i < 24; ++i) file.write("\xff\xff\x7f\x7f", 4);
  }
  wait_for_all(Partition::world());
  app::EvaluateWords evaluated{.model = words("").model, .text = (folder_ / "merges.txt").string()};
  evaluated.options.window = 8;
  evaluated.options.at_once = 2;
  EXPECT_ERROR(
      app::evaluate_report(evaluated), "loss nan nats per token",
      "evaluate: the loss is not a finite number; the first that is not is one of tokens 1 to 12 of the text",
      "riesz inspect");
}

TEST_F(GenerateFolder, RefusesWeightsThatAreNotFinite) {
  wait_for_all(Partition::world());
  if (Runtime::rank() == 0) {
    std::fstream file(folder_ / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4, std::ios::end);
    file.write("\xff\xff\xff\xff", 4);
  }
  wait_for_all(Partition::world());
  EXPECT_ERROR(printed(words("the")), "tensor \"", "has 1 numbers that are not finite");
  app::EvaluateWords evaluated{.model = words("").model, .text = (folder_ / "merges.txt").string()};
  EXPECT_ERROR(app::evaluate_report(evaluated), "tensor \"", "has 1 numbers that are not finite");
}

TEST_F(GenerateFolder, WritesSeveralTextsOneAfterAnother) {
  write("prompts.jsonl", "\"the then\"\n{\"prompt\": \"a\"}\n");
  app::GenerateWords both = words("");
  both.prompts = (folder_ / "prompts.jsonl").string();
  const std::string first = printed(words("the then")), second = printed(words("a"));
  const std::string all = printed(both);
  EXPECT_EQ(all, Runtime::rank() >= 0 ? "\"the then\":\n" + first + "\n\"a\":\n" + second : "");
  both.json = true;
  EXPECT_THAT(printed(both), HasSubstr("{\"prompt\":\"the then\",\"text\":"));
}

/// Files of prompts that no program should be ended by.
TEST_F(GenerateFolder, RefusesPromptsThatAreNone) {
  const std::string path = (folder_ / "odd.jsonl").string();
  const std::string deep = std::string(150000, '[') + std::string(150000, ']');
  write("odd.jsonl", "\"good\"\n" + deep + "\n");
  EXPECT_ERROR(app::read_prompts(path), "odd.jsonl\", line 2: objects and lists more than 100 deep");
  write("odd.jsonl", "\"good\"\n{\"prompt\": 1}\n");
  EXPECT_ERROR(app::read_prompts(path), "odd.jsonl\", line 2: it is neither a text in JSON nor");
  write("odd.jsonl", "{\"prompt\"\n");
  EXPECT_ERROR(app::read_prompts(path), "odd.jsonl\", line 1 is no JSON");
  EXPECT_ERROR(app::read_prompts("/dev/zero"),
               "cannot read \"/dev/zero\": it is a folder, a pipe or a device");
  app::EvaluateWords text{.model = words("").model, .text = "/dev/zero"};
  EXPECT_ERROR(app::evaluate_report(text), "cannot read \"/dev/zero\": it is a folder, a pipe or a device");
}

TEST_F(GenerateFolder, AsksByTheFoldersTemplateAndEndsAsItSays) {
  const std::string plain = printed(words("<|u|>then<|a|>"));
  write("chat_template.jinja", "{% for m in messages %}{{ '<|u|>' + m['content'] + '<|a|>' }}{% endfor %}");
  EXPECT_EQ(printed(words("then")), plain);
  app::GenerateWords raw = words("<|u|>then<|a|>");
  raw.raw = true;
  EXPECT_EQ(printed(raw), plain);
  app::GenerateWords cut = words("then");
  const auto letter = std::find_if(plain.begin() + 1, plain.end(), [](char c) { return c > ' '; });
  cut.stops = {std::string(1, letter != plain.end() ? *letter : '?')};
  EXPECT_EQ(printed(cut), plain.substr(0, plain.find(cut.stops[0])) + "\n");
  write("generation_config.json", R"({"max_new_tokens": 3, "eos_token_id": [260]})");
  app::GenerateWords few = words("then");
  few.tokens.reset();
  EXPECT_EQ(printed(few), printed([&] {
              app::GenerateWords three = words("then");
              three.tokens = 3;
              return three;
            }()));
  few.system = "Be brief.";
  write("chat_template.jinja", "{% macro f() %}");
  EXPECT_ERROR(app::generate_text(few), "chat_template.jinja", "this statement is not supported");
}

/// Of the bytes "!" is token 0, and "*" token 9, whatever tokens the digits are.
TEST_F(GenerateFolder, EndsAtATokenByItsNumber) {
  app::GenerateWords drawn = words("the then");
  drawn.temperature = 1.5;
  std::size_t place = std::string::npos;
  std::string whole;
  for (drawn.seed = 0; place == std::string::npos && drawn.seed < 40; ++drawn.seed) {
    whole = printed(drawn);
    place = whole.find_first_of("!\"#$%&'()*");
  }
  ASSERT_NE(place, std::string::npos);
  --drawn.seed;
  drawn.ends = {std::to_string(whole[place] - '!')};
  EXPECT_EQ(printed(drawn), whole.substr(0, place) + "\n");
}

TEST_F(GenerateFolder, SaysWhatDoesNotFit) {
  EXPECT_ERROR(app::generate_text(words("x", {.tp = 5})), "layout.tp = 1 x 1 x 5 workers", "but the job has");
  app::GenerateWords asked = words("x");
  asked.chat = true;
  EXPECT_ERROR(app::generate_text(asked), "has no chat template");
  asked = words("x");
  asked.ends = {"no token"};
  EXPECT_ERROR(app::generate_text(asked), "--eos-token \"no token\" is neither");
  asked = words("x");
  asked.tokens = 0;
  EXPECT_ERROR(app::generate_text(asked), "--max-tokens 0; it must be 1 or more");
  asked = words("x");
  asked.at_once = 0;
  EXPECT_ERROR(app::generate_text(asked), "--batch-size 0; it must be 1 or more");
  asked = words("x");
  EXPECT_ERROR(app::generate_text(words(std::string(40, 'x'))), "the prompt has 40 tokens",
               "context is of 24");
  asked.model.folder = "/no/such/folder";
  EXPECT_ERROR(app::generate_text(asked), "there is no folder \"/no/such/folder\"");
  wait_for_all(Partition::world());  // all have read what goes now
  if (Runtime::rank() == 0) std::filesystem::rename(folder_ / "tokenizer.json", folder_ / "other.json");
  for (const char* name : {"vocab.json", "merges.txt"})
    if (Runtime::rank() == 0) std::filesystem::remove(folder_ / name);
  wait_for_all(Partition::world());
  EXPECT_ERROR(app::generate_text(words("x")), "tokenizer.json");
  write("config.json", R"({"model_type": "bert"})");
  EXPECT_ERROR(app::generate_text(words("x")), "\"bert\"", "\"gptj\"");
}

}  // namespace
}  // namespace riesz::testing
