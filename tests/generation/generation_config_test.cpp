// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/generation/generation_config.h"

#include <gtest/gtest.h>

#include "../io/temporary_folder.h"
#include "riesz/testing/error.h"

namespace riesz::testing {
namespace {

GenerationConfig parsed(const std::string& text) { return parse_generation_config(text, "G.json"); }

TEST(GenerationConfig, SaysHowAFolderGenerates) {
  const GenerationConfig plain = parsed(R"({"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2,
      "transformers_version": "4.42.3", "_from_model_config": true, "temperature": 0.6, "num_beams": 1})");
  EXPECT_EQ(plain.end, std::vector<TokenId>{2});
  EXPECT_EQ(plain.sampling.temperature, 0);
  EXPECT_FALSE(plain.tokens || plain.new_tokens);

  const GenerationConfig drawn = parsed(R"({"do_sample": true, "eos_token_id": [5, 7], "temperature": 0.6,
      "top_p": 0.9, "repetition_penalty": 1.1, "stop_strings": ["a", "b"], "max_new_tokens": 9,
      "max_length": 20, "min_p": null})");
  EXPECT_EQ(drawn.end, (std::vector<TokenId>{5, 7}));
  EXPECT_EQ(drawn.sampling.temperature, 0.6);
  EXPECT_EQ(drawn.sampling.top_k, 50);
  EXPECT_EQ(drawn.sampling.top_p, 0.9);
  EXPECT_EQ(drawn.sampling.repetition_penalty, 1.1);
  EXPECT_EQ(drawn.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(drawn.new_tokens, 9);
  EXPECT_EQ(drawn.tokens, 20);
  EXPECT_EQ(parsed(R"({"do_sample": true, "top_k": 0})").sampling.temperature, 1);
  EXPECT_EQ(parsed(R"({"do_sample": true, "top_k": 0})").sampling.top_k, 0);
  EXPECT_EQ(parsed(R"({"do_sample": true, "top_k": null})").sampling.top_k, 0);
}

TEST(GenerationConfig, RefusesWhatIsNotDone) {
  EXPECT_ERROR(parsed(R"({"num_beams": 4})"), "G.json: num_beams is 4; only 1 is supported");
  EXPECT_ERROR(parsed(R"({"suppress_tokens": [3]})"),
               "G.json: it has \"suppress_tokens\", which is not supported");
  EXPECT_ERROR(parsed(R"({"eos_token_id": -1})"),
               "G.json: eos_token_id is -1; it must be an integer from 0 to 4294967294");
  EXPECT_ERROR(parsed("[]"), "it is no object");
  EXPECT_ERROR(parsed("{"), "G.json is no JSON");
  EXPECT_ERROR(parsed(R"({"top_p": 1e400})"), "G.json is no JSON: a number in it is too great");
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  EXPECT_ERROR(parsed(R"({"num_beams": )" + deep + "}"), "G.json: objects and lists more than 100 deep");
  const std::string text = R"(\")" + std::string(200, '[');  // no list
  EXPECT_EQ(parsed(R"({"stop_strings": [")" + text + R"("]})").stops.front().size(), 201U);
}

TEST(GenerationConfig, NamesTheKeyTheValueAndTheRangeThatItIsOutOf) {
  const auto refused = [](const std::string& key, const std::vector<std::string>& values,
                          const std::string& range) {
    for (const std::string& value : values)
      EXPECT_ERROR(parsed("{\"do_sample\": true, \"" + key + "\": " + value + "}"),
                   "G.json: " + key + " is " + value + "; it must be " + range);
  };
  refused("temperature", {"-0.5", "1e+100", "\"hot\"", "[1]"}, "a number from 0 to 1e+06");
  refused("top_p", {"0", "-1", "1.5", "{}"}, "a number from 1e-09 to 1");
  refused("repetition_penalty", {"0", "-1", "1e-300", "1e+300"}, "a number from 0.001 to 1000");
  refused("top_k", {"-1", "1.5", "18446744073709551615", "true"}, "an integer from 0 to");
  refused("max_new_tokens", {"0", "-1", "2.0", "18446744073709551615"}, "an integer from 1 to");
  refused("max_length", {"0", "-1", "1e+30"}, "an integer from 1 to");
}

TEST(GenerationConfig, TakesTheEndFromTheModelsConfigWhereItNamesNone) {
  const TemporaryFolder folder;
  EXPECT_TRUE(read_generation_config(folder.path()).end.empty());
  folder.write("config.json", R"({"eos_token_id": 3})");
  EXPECT_EQ(read_generation_config(folder.path()).end, std::vector<TokenId>{3});
  folder.write("generation_config.json", R"({"eos_token_id": 4, "do_sample": true})");
  EXPECT_EQ(read_generation_config(folder.path()).end, std::vector<TokenId>{4});
}

}  // namespace
}  // namespace riesz::testing
