// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/io/tokens/tokenize.h"

#include <gtest/gtest.h>

#include <map>

#include "../temporary_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/tokenizer/tokenizer_files.h"
#include "riesz/io/tokens/token_set.h"
#include "riesz/partition/agreement/alike.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryFolder;

/// Texts in rank 0's folder, seen by all.
class Tokenize : public ::testing::Test {
 protected:
  Tokenize() : path(collect_texts(world, mine.path().string())[0]) {
    if (Runtime::rank() == 0) {
      mine.write("book.txt",
                 "It was the best of times, it was the worst of times\xff, in the spring of hope.\n");
      mine.write("empty.txt", "");
      mine.write("more.jsonl",
                 "{\"text\": \"the first of times\", \"n\": 1}\n\n{\"text\": \"the last\\nof all\"}\r\n"
                 "{\"text\": \"\"}\n{\"text\": \"it was\"}");
    }
    collect_texts(world, "");
  }
  ~Tokenize() override { collect_texts(world, ""); }

  TokenizeRequest request(const std::string& into) const {
    return {.files = {path / "book.txt", path / "empty.txt", path / "more.jsonl"},
            .folder = path / into,
            .vocabulary = 270,
            .bytes = 45};
  }

  /// Every file of a folder.
  std::map<std::string, std::string> files(const std::string& name) const {
    std::map<std::string, std::string> all;
    for (const auto& file : fs::directory_iterator(path / name)) {
      std::ifstream stream(file.path(), std::ios::binary);
      all[file.path().filename().string()] = {std::istreambuf_iterator<char>(stream), {}};
    }
    return all;
  }

  Partition world = Partition::world();
  TemporaryFolder mine;
  fs::path path;
};

TEST_F(Tokenize, MakesTheSameFilesOnAnyNumberOfWorkers) {
  const Tokenized by_all = tokenize(world, request("all"));
  if (Runtime::rank() != 0) return;
  const Tokenized by_one = tokenize(world.subset({0}), request("one"));

  EXPECT_EQ(files("all"), files("one"));
  EXPECT_EQ(by_all.documents, 4u);
  EXPECT_EQ(by_all.parts, 3u) << "the book, and two of lines";
  EXPECT_EQ(by_all.tokens, by_one.tokens);
  const TokenSet set(path / "all");
  std::vector<std::int64_t> ids(static_cast<std::size_t>(set.tokens()));
  set.read(0, set.tokens(), ids.data());
  const Tokenizer tokenizer = read_tokenizer(path / "all");
  EXPECT_EQ(tokenizer.decode({ids.begin(), ids.end()}),
            mine.read("book.txt") +
                "<|endoftext|>the first of times<|endoftext|>the last\nof all<|endoftext|>it was"
                "<|endoftext|>");
}

TEST_F(Tokenize, GoesOnWhereItWasAndMakesAnewWhatChanged) {
  tokenize(world, request("made"));
  const auto made = files("made");
  collect_texts(world, "");
  EXPECT_EQ(tokenize(world, request("made")).kept, 3u);
  collect_texts(world, "");
  if (Runtime::rank() == 0) {  // as if it had been killed
    for (const char* name : {"tokens.json", "part-00001.json", "part-00002.ends"})
      fs::remove(path / "made" / name);
    mine.write("made/part-00009.json", "");
    mine.write("made/part-00001.tokens.4711.tmp", "half");
  }
  collect_texts(world, "");
  EXPECT_ERROR(TokenSet(path / "made"), "has not come to its end; run it");
  collect_texts(world, "");
  EXPECT_EQ(tokenize(world, request("made")).kept, 1u);
  EXPECT_EQ(files("made")["part-00002.ends"], made.at("part-00002.ends"));
  EXPECT_FALSE(fs::exists(path / "made/part-00001.tokens.4711.tmp")) << "what is half written goes";

  TokenizeRequest again = request("made");
  again.vocabulary.reset();
  again.tokenizer = path / "made";
  collect_texts(world, "");
  if (Runtime::rank() == 0) {
    std::string changed = mine.read("more.jsonl");
    changed[changed.size() - 3] = 'X';
    mine.write("more.jsonl", changed);
  }
  collect_texts(world, "");
  EXPECT_EQ(tokenize(world, again).kept, 2u) << "by its own tokenizer; the last part has changed";
  again.files.pop_back();
  EXPECT_EQ(tokenize(world, again).parts, 1u);
  EXPECT_FALSE(fs::exists(path / "made/part-00001.tokens")) << "what is left over goes";
}

TEST_F(Tokenize, SaysWhatIsWrong) {
  if (Runtime::rank() != 0) return;
  const Partition self = world.subset({0});
  const auto with = [&](auto change) {
    TokenizeRequest changed = request("wrong");
    change(changed);
    return tokenize(self, changed);
  };

  EXPECT_ERROR(with([](auto& r) { r.vocabulary = 20; }), "a vocabulary of 20 tokens has no room");
  EXPECT_FALSE(fs::exists(path / "wrong")) << "what is refused leaves nothing behind";
  tokenize(self, request("wrong"));
  EXPECT_ERROR(with([](auto& r) { r.vocabulary = 269; }),
               "wrong\" has another tokenizer, or tokens of other documents");
  EXPECT_FALSE(fs::exists(path / "wrong/.tokenizer"));
  EXPECT_ERROR(with([](auto& r) { r.documents.kind = Documents::line; }),
               "has another tokenizer, or tokens of other");
  EXPECT_ERROR(with([](auto& r) { r.tokenizer = "x"; }),
               "a tokenizer's files (tokenizer), or how many tokens", "not both");
  EXPECT_ERROR(with([](auto& r) { r.files = {"/no/such"}; }), "cannot read \"/no/such\"");
  EXPECT_ERROR(with([](auto& r) { r.files = {"/tmp"}; }),
               "cannot read \"/tmp\": it is a folder, a pipe or a device");
  EXPECT_ERROR(with([](auto& r) { r.files.resize(2), r.files.erase(r.files.begin()); }),
               "there is no text in the files");
  EXPECT_ERROR(with([](auto& r) { r.documents.member = "body"; }),
               "more.jsonl\", the line at byte 0 has no text \"body\"");
  mine.write("more.jsonl", "{\"text\": \"a\"}\n{\"text\": ");
  EXPECT_ERROR(with([](auto& r) { r.bytes = 1000; }),
               "more.jsonl\", the line at byte 14 is no JSON: it ends too early, after 9 bytes");
  EXPECT_ERROR(documents_of("page"), "documents are \"page\"; they may be auto, file, line or jsonl");
}

}  // namespace
}  // namespace riesz
