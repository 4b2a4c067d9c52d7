// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokenizer/tokenizer.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "../temporary_folder.h"
#include "golden.h"
#include "riesz/io/draws.h"
#include "riesz/io/tokenizer/learn_tokenizer.h"
#include "riesz/io/tokenizer/plain_tokenizer.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using nlohmann::json;
using testing::Ids;
using testing::TemporaryFolder;

constexpr const char* kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The tokenizer that is learnt from the golden text, as files.
class Tokenizers : public ::testing::Test {
 protected:
  Tokenizers() { write_tokenizer(learn_tokenizer({testing::kLearnt}, {.vocabulary = 320}), folder.path()); }

  /// Its tokenizer.json, changed.
  Tokenizer read_changed(const std::function<void(json&)>& change) const {
    json file = json::parse(folder.read("tokenizer.json"));
    change(file);
    return read_tokenizer(folder.write("changed/tokenizer.json", file.dump()));
  }

  TemporaryFolder folder;
};

TEST_F(Tokenizers, LearnWhatHuggingFacesTrainerLearns) {
  const json file = json::parse(folder.read("tokenizer.json"));
  std::string merges;
  for (const json& merge : file["model"]["merges"])
    merges += (merges.empty() ? "" : ", ") + merge.get<std::string>();

  EXPECT_EQ(merges, testing::kMerges);
  EXPECT_EQ(read_tokenizer(folder.path()).end(), 304u);
  EXPECT_ERROR(learn_tokenizer({""}, {.vocabulary = 256}), "no room for the 256 bytes", "take 257 or more");
}

/// Each byte is the token of its value, in memory and from the files, in whatever text it stands.
TEST(ByteTokenizer, HasTheValuesOfBytes) {
  const TemporaryFolder folder;
  write_tokenizer(byte_tokenizer(), folder.path());
  std::string text = "To be, or not\n  to be: \u00e9\xff 12345";
  for (int byte = 0; byte < 256; ++byte) text += static_cast<char>(byte);
  Ids values;
  for (const char byte : text) values.push_back(static_cast<unsigned char>(byte));

  for (const Tokenizer& tokenizer : {Tokenizer(byte_tokenizer()), read_tokenizer(folder.path()),
                                     read_tokenizer(folder.path() / "tokenizer.json")}) {
    EXPECT_EQ(tokenizer.size(), 256);
    EXPECT_EQ(tokenizer.encode(text), values);
    EXPECT_EQ(tokenizer.decode(values), text);
    EXPECT_FALSE(tokenizer.end());
  }
}

TEST(PlainTokenizer, HasTheTokensThatItIsGiven) {
  const Tokenizer digits{plain_tokenizer("0123456789")};

  EXPECT_EQ(digits.encode("8550"), (Ids{8, 5, 5, 0}));
  EXPECT_EQ(digits.decode({5, 3, 1}), "531");
  EXPECT_ERROR(digits.encode("8+5"), "+");
}

TEST_F(Tokenizers, EncodeAsGpt2FromEitherKindOfFiles) {
  for (const char* name : {"", "tokenizer.json", "vocab.json", "merges.txt"}) {
    const Tokenizer tokenizer = read_tokenizer(folder.path() / name);
    for (std::size_t i = 0; i < testing::kSamples.size(); ++i) {
      EXPECT_EQ(tokenizer.encode(testing::kSamples[i]), testing::kAsGpt2[i])
          << name << ": " << testing::kSamples[i];
      EXPECT_EQ(tokenizer.decode(testing::kAsGpt2[i]), testing::kSamples[i]);
    }
    EXPECT_EQ(tokenizer.size(), 305);
  }
}

TEST_F(Tokenizers, EncodeAsSmolLm2AndLlama3) {
  const Tokenizer smol = read_changed([](json& file) {
    file["pre_tokenizer"] = {
        {"type", "Sequence"},
        {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, file["pre_tokenizer"]}}};
  });
  EXPECT_EQ(smol.encode(testing::kSamples[0]), testing::kFirstAsSmolLm2);

  const Tokenizer llama = read_changed([](json& file) {
    const json split = {
        {"type", "Split"}, {"pattern", {{"Regex", kLlama3}}}, {"behavior", "Isolated"}, {"invert", false}};
    const json bytes = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}};
    file["model"]["ignore_merges"] = true;
    file["model"]["vocab"]["Ġproduct"] = 320;
    for (json& merge : file["model"]["merges"]) {  // as newer files have them
      const std::string text = merge;
      merge = {text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1)};
    }
    file["added_tokens"].push_back({{"id", 321},
                                    {"content", "<|begin|>"},
                                    {"single_word", false},
                                    {"lstrip", false},
                                    {"rstrip", false},
                                    {"normalized", false},
                                    {"special", true}});
    file["post_processor"] = json::parse(R"({"type": "TemplateProcessing", "pair": [],
      "single": [{"SpecialToken": {"id": "<|begin|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<|begin|>": {"id": "<|begin|>", "ids": [321], "tokens": ["<|begin|>"]}}})");
  });
  for (std::size_t i = 0; i < testing::kSamples.size(); ++i) {
    EXPECT_EQ(llama.encode(testing::kSamples[i], {.with_template = true}), testing::kAsLlama3[i]);
    EXPECT_EQ(llama.decode(testing::kAsLlama3[i]), "<|begin|>" + testing::kSamples[i]);
  }
}

TEST_F(Tokenizers, GiveBackAnyBytes) {
  const Tokenizer tokenizer = read_tokenizer(folder.path());
  Draws draws(3, "bytes");

  for (int i = 0; i < 2000; ++i) {
    std::string bytes;
    for (std::uint64_t left = draws.below(60); left > 0; --left) {
      const std::uint64_t kind = draws.below(4);
      bytes += kind == 0 ? "é" : kind == 1 ? " " : std::string(1, static_cast<char>(draws.below(256)));
    }
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(bytes)), bytes);
  }
}

TEST_F(Tokenizers, TakeAddedTokensOutOfTheTextFirst) {
  const Tokenizer tokenizer = read_changed([](json& file) {
    const auto add = [&](int id, const char* text, bool left, bool right, bool normalized) {
      file["added_tokens"].push_back({{"id", id},
                                      {"content", text},
                                      {"single_word", false},
                                      {"lstrip", left},
                                      {"rstrip", right},
                                      {"normalized", normalized},
                                      {"special", false}});
    };
    add(305, "<a>", false, false, false);
    add(306, "<a><a>", false, false, false);
    add(307, "<mask>", true, true, false);
    add(308, "sk><", false, false, true);
  });
  const TokenId x = tokenizer.encode("x")[0], y = tokenizer.encode("y")[0], space = tokenizer.encode(" ")[0];

  EXPECT_EQ(tokenizer.encode("<a><a><a>x"), (Ids{306, 305, x})) << "the longest, from the left";
  EXPECT_EQ(tokenizer.encode("x \u3000<mask>\n y"), (Ids{x, 307, y})) << "with the white space around it";
  EXPECT_EQ(tokenizer.encode("<mask><a>"), (Ids{307, 305})) << "what is normalized goes last";
  EXPECT_EQ(tokenizer.encode("x<|endoftext|>y"), (Ids{x, 304, y}));
  EXPECT_GT(tokenizer.encode("<|endoftext|>", {.special_in_text = false}).size(), 1u)
      << "unless it is only text";
  EXPECT_EQ(tokenizer.decode({x, 304, space, y}, false), "x y") << "special ones left out";
  EXPECT_ERROR(tokenizer.decode({309}), "has no token 309");
}

TEST_F(Tokenizers, RefuseWhatTheyDoNotDo) {
  const auto expect = [&](const char* pointer, const json& value, const std::vector<std::string>& says) {
    const auto change = [&](json& file) { file[json::json_pointer(pointer)] = value; };
    const auto result = testing::throws_error([&] { read_changed(change); }, says);
    EXPECT_TRUE(result) << pointer << result.message();
  };

  expect("/normalizer", {{"type", "NFC"}},
         {"changed/tokenizer.json\": normalizer is set, a NFC, which is not supported"});
  expect("/truncation", {{"max_length", 5}}, {"truncation is set"});
  expect("/model/type", "Unigram", {"model.type is \"Unigram\"; BPE is supported"});
  expect("/model/dropout", 0.1, {"model.dropout is not 0"});
  expect("/model/byte_fallback", true, {"model.byte_fallback is set"});
  expect("/model/end_of_word_suffix", "</w>", {"model.end_of_word_suffix is set"});
  expect("/model/unk_token", "<unk>", {"the token for what is unknown, \"<unk>\", is not in the vocabulary"});
  expect("/model/merges/1", "t o p", {"model.merges[1] is \"t o p\", not two words"});
  expect("/model/merges/2", "t q", {"merge 2 of \"t\" and \"q\""});
  expect("/model/vocab/!", -1, {"model.vocab of \"!\" is -1; it must be an integer from 0 to 4294967294"});
  expect("/model/vocab/!", 1000000000000, {"model.vocab of \"!\" is 1000000000000; it must be an integer"});
  expect("/model/vocab/!", 4294967294, {"a token has the number 4294967294, but there are"});
  expect("/model/merges/0", "! !", {"merge 0 of", "no token for what it makes; so says", "tokenizer.json"});
  expect("/model/vocab/!", 7, {"both have the number 7"});
  expect("/model/later", 1, {"model has \"later\", which is not supported"});
  expect("/pre_tokenizer/type", "Metaspace", {"pre_tokenizer is a \"Metaspace\"; Split, Digits, ByteLevel"});
  expect("/pre_tokenizer", {{"type", "Digits"}, {"individual_digits", true}},
         {"has no ByteLevel; only tokenizers over bytes"});
  expect("/decoder/type", "WordPiece", {"decoder is a \"WordPiece\"; ByteLevel is supported"});
  expect("/post_processor/type", "BertProcessing", {"post_processor is a \"BertProcessing\""});
  expect("/added_tokens/0/single_word", true, {"added_tokens[0] has single_word"});
  expect("/added_tokens/0/id", 3, {"the added token \"<|endoftext|>\" has the number 3"});
  expect(
      "/post_processor",
      {{"type", "TemplateProcessing"},
       {"single",
        {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
       {"pair", json::array()},
       {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {100000}}, {"tokens", {"<s>"}}}}}}},
      {"its post_processor puts token 100000 beside texts, and there is none"});
  expect("/pre_tokenizer", {{"type", "Digits"}}, {"pre_tokenizer has no \"individual_digits\""});
  std::string deep;
  for (int i = 0; i < 50000; ++i) deep += R"({"type": "Sequence", "pretokenizers": [)";
  for (int i = 0; i < 50000; ++i) deep += "]}";
  EXPECT_ERROR(read_tokenizer(folder.write("deep/tokenizer.json", R"({"pre_tokenizer": )" + deep + "}")),
               "deep/tokenizer.json\": objects and lists more than 100 deep");
  EXPECT_ERROR(read_tokenizer(folder.write("cut/tokenizer.json", "{\"model\": ")),
               "cut/tokenizer.json\" is no JSON");
  for (const char* key : {"add_prefix_space", "add_bos_token"}) {
    folder.write("tokenizer_config.json", json{{key, true}}.dump());
    EXPECT_ERROR(read_tokenizer(folder.path() / "vocab.json"), key, " is true, which is not supported");
    EXPECT_NO_THROW(read_tokenizer(folder.path()));  // tokenizer.json says itself what it does
  }
  folder.write("sentence/tokenizer.model", "");
  EXPECT_ERROR(read_tokenizer(folder.path() / "sentence"), "has no tokenizer", "SentencePiece");
  EXPECT_ERROR(read_tokenizer(folder.path() / "none"), "there is no file or folder");
}

/// Each field that Hugging Face's library asks for must be there, and of its kind: a file that it refuses is
/// refused here too.
TEST_F(Tokenizers, RefuseWhatHuggingFacesLibraryRefuses) {
  json whole = json::parse(folder.read("tokenizer.json"));
  const json piece = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json end = {{"SpecialToken", {{"id", "<|endoftext|>"}, {"type_id", 0}}}};
  whole["post_processor"] = {
      {"type", "Sequence"},
      {"processors",
       {whole["pre_tokenizer"],
        {{"type", "TemplateProcessing"},
         {"single", {end, piece}},
         {"pair", {piece, piece}},
         {"special_tokens",
          {{"<|endoftext|>", {{"id", "<|endoftext|>"}, {"ids", {304}}, {"tokens", {"<|endoftext|>"}}}}}}}}}};
  const json split = {
      {"type", "Split"}, {"pattern", {{"String", "a"}}}, {"behavior", "Isolated"}, {"invert", false}};
  whole["pre_tokenizer"] = {
      {"type", "Sequence"},
      {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, split, whole["pre_tokenizer"]}}};
  const auto read = [&](const std::string& text) {
    return read_tokenizer(folder.write("odd/tokenizer.json", text));
  };
  EXPECT_EQ(read(whole.dump()).before(), (Ids{304}));
  const std::string bytes = "/pre_tokenizer/pretokenizers/2", of_template = "/post_processor/processors/1";
  for (const std::string& needed : {std::string("/added_tokens/0/id"),
                                    std::string("/added_tokens/0/content"),
                                    std::string("/added_tokens/0/single_word"),
                                    std::string("/added_tokens/0/lstrip"),
                                    std::string("/added_tokens/0/rstrip"),
                                    std::string("/added_tokens/0/normalized"),
                                    std::string("/added_tokens/0/special"),
                                    bytes + "/add_prefix_space",
                                    bytes + "/trim_offsets",
                                    std::string("/pre_tokenizer/pretokenizers/0/individual_digits"),
                                    std::string("/pre_tokenizer/pretokenizers/1/invert"),
                                    std::string("/pre_tokenizer/pretokenizers/1/behavior"),
                                    std::string("/post_processor/processors/0/trim_offsets"),
                                    std::string("/decoder/add_prefix_space"),
                                    of_template + "/pair",
                                    of_template + "/single",
                                    of_template + "/single/0/SpecialToken/type_id",
                                    of_template + "/single/1/Sequence/id",
                                    of_template + "/pair/1/Sequence/type_id",
                                    of_template + "/special_tokens/<|endoftext|>/id",
                                    of_template + "/special_tokens/<|endoftext|>/ids",
                                    of_template + "/special_tokens/<|endoftext|>/tokens",
                                    std::string("/model/vocab"),
                                    std::string("/model/merges"),
                                    std::string("/model")}) {
    const json::json_pointer place(needed);
    json less = whole, other = whole, null = whole;
    less[place.parent_pointer()].erase(place.back());
    other[place] = 1.5;
    null[place] = nullptr;
    for (const json& file : {less, other, null})
      EXPECT_ERROR(read(file.dump()),
                   "odd/tokenizer.json\": ", place.back() == "model" ? "model" : place.back().c_str());
  }
  for (const auto& [place, value] :
       std::vector<std::pair<std::string, json>>{{"/version", "2.0"},
                                                 {"/version", nullptr},
                                                 {"/added_tokens", nullptr},
                                                 {"/model/type", nullptr},
                                                 {bytes + "/use_regex", nullptr},
                                                 {"/decoder/use_regex", 1},
                                                 {of_template + "/pair/0/x", 1},
                                                 {of_template + "/single/1/Sequence/id", "C"},
                                                 {of_template + "/special_tokens/x", 1}}) {
    json file = whole;
    file[json::json_pointer(place)] = value;
    EXPECT_TRUE(testing::throws_error([&] { read(file.dump()); }, {"odd/tokenizer.json\": "})) << place;
  }
  EXPECT_ERROR(read(R"({"version": "1.0", "version": "1.0"})"), "the name \"version\" stands there twice");
}

}  // namespace
}  // namespace riesz
