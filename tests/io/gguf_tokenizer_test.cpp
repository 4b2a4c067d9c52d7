// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The tokenizer of a GGUF file's metadata is that of its model: the golden encodings, by way of the files.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gguf_bytes.h"
#include "riesz/io/gguf/gguf_file.h"
#include "riesz/io/gguf/tokenizer_texts.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/testing/error.h"
#include "temporary_folder.h"
#include "tokenizer/golden.h"

namespace riesz::testing {
namespace {

using nlohmann::json;

/// The tokenizer learnt from the golden text, with Llama 3's two tokens more, as metadata.
struct InMetadata {
  std::vector<std::string> tokens;
  std::vector<std::string> merges;
  std::vector<std::int32_t> types;

  InMetadata() {
    const TokenizerParts parts = learn_tokenizer({kLearnt}, {.vocabulary = 320});
    for (std::size_t i = 0; i < 322; ++i) tokens.push_back("[PAD" + std::to_string(i) + "]");
    for (const auto& [word, id] : parts.vocabulary) tokens[id] = word;
    for (const auto& [left, right] : parts.merges) merges.push_back(left + " " + right);
    tokens[304] = "<|endoftext|>", tokens[320] = "Ġproduct", tokens[321] = "<|begin|>";
    types.assign(tokens.size(), 1);
    std::fill(types.begin() + 305, types.begin() + 320, 5);
    types[304] = types[321] = 3;
  }

  GgufBytes bytes(const std::string& pre) const {
    GgufBytes all;
    all.text("tokenizer.ggml.model", "gpt2")
        .text("tokenizer.ggml.pre", pre)
        .texts("tokenizer.ggml.tokens", tokens);
    all.integers("tokenizer.ggml.token_type", types).texts("tokenizer.ggml.merges", merges);
    return all.integer("tokenizer.ggml.bos_token_id", 321).integer("tokenizer.ggml.eos_token_id", 304);
  }
};

class GgufTokenizers : public ::testing::Test {
 protected:
  std::map<std::string, std::string> texts(const GgufBytes& bytes) const {
    return tokenizer_texts(GgufFile(folder.write("t.gguf", bytes.bytes())).metadata());
  }
  Tokenizer tokenizer(const GgufBytes& bytes) const {
    for (const auto& [name, text] : texts(bytes)) folder.write("t/" + name, text);
    return read_tokenizer(folder.path() / "t");
  }

  TemporaryFolder folder;
  InMetadata learnt;
};

TEST_F(GgufTokenizers, EncodeAsTheirModels) {
  const Tokenizer gpt2 = tokenizer(learnt.bytes("gpt-2"));
  const Tokenizer llama = tokenizer(learnt.bytes("llama-bpe"));
  for (std::size_t i = 0; i < kSamples.size(); ++i) {
    EXPECT_EQ(gpt2.encode(kSamples[i], {.with_template = true}), kAsGpt2[i]);
    EXPECT_EQ(llama.encode(kSamples[i], {.with_template = true}), kAsLlama3[i]);
    EXPECT_EQ(llama.decode(kAsLlama3[i]), "<|begin|>" + kSamples[i]);
  }
  EXPECT_EQ(tokenizer(learnt.bytes("smollm")).encode(kSamples[0]), kFirstAsSmolLm2);
  EXPECT_EQ(gpt2.end(), 304u);
  EXPECT_EQ(gpt2.encode("a<|endoftext|>").back(), 304u);
  const Tokenizer wrapped = tokenizer(learnt.bytes("gpt-2")
                                          .flag("tokenizer.ggml.add_bos_token", true)
                                          .flag("tokenizer.ggml.add_eos_token", true));
  EXPECT_EQ(wrapped.before(), Ids{321});
  EXPECT_EQ(wrapped.after(), Ids{304});
}

TEST_F(GgufTokenizers, SayWhatAModelNeedsToAnswer) {
  GgufBytes bytes = learnt.bytes("smollm");
  bytes.text("tokenizer.chat_template", "{{ 'a' }}\n").integer("tokenizer.ggml.eot_token_id", 321);
  bytes.integer("tokenizer.ggml.eom_token_id", 304).integer("tokenizer.ggml.padding_token_id", 305);
  const auto files = texts(bytes);
  const json config = json::parse(files.at("tokenizer_config.json"));
  EXPECT_EQ(config["chat_template"], "{{ 'a' }}\n");
  EXPECT_EQ(config["bos_token"], "<|begin|>");
  EXPECT_EQ(config["eos_token"], "<|endoftext|>");
  const json generation = json::parse(files.at("generation_config.json"));
  EXPECT_EQ(generation,
            json::parse(R"({"bos_token_id": 321, "eos_token_id": [304, 321], "pad_token_id": 305})"));
  EXPECT_EQ(json::parse(texts(learnt.bytes("smollm")).at("generation_config.json"))["eos_token_id"], 304);
}

TEST_F(GgufTokenizers, RefuseByName) {
  EXPECT_ERROR(texts(learnt.bytes("qwen2")), "t.gguf",
               "its tokenizer.ggml.pre is \"qwen2\"; known are gpt-2, smollm");
  EXPECT_ERROR(texts(GgufBytes().text("tokenizer.ggml.model", "llama")),
               "its tokenizer.ggml.model is \"llama\"; byte pairs", "--no-tokenizer");
  EXPECT_ERROR(texts(learnt.bytes("smollm").integer("tokenizer.ggml.eot_token_id", 322)),
               "its tokenizer.ggml.eot_token_id is 322, and there are 322 tokens");
  InMetadata other = learnt;
  other.merges.push_back("Ġ t h");
  EXPECT_ERROR(texts(other.bytes("smollm")), "its tokenizer.ggml.merges has \"Ġ t h\", not two words");
  other.merges.back() = "Ġ nothing";
  EXPECT_ERROR(texts(other.bytes("smollm")), "its tokenizer.ggml.merges has \"nothing\", which is no token");
  other = learnt, other.tokens[7] = other.tokens[9];
  EXPECT_ERROR(texts(other.bytes("smollm")), "its tokenizer.ggml.tokens has", "twice, as 7 and 9");
  other = learnt, other.tokens[7] = "\xff";
  EXPECT_ERROR(texts(other.bytes("smollm")), "its tokenizer.ggml.tokens has", "which is no UTF-8");
  other = learnt, other.types.pop_back();
  EXPECT_ERROR(texts(other.bytes("smollm")),
               "its tokenizer.ggml.token_type is of 321 tokens, and there are 322");
}

}  // namespace
}  // namespace riesz::testing
