// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/jobs/tokenize.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"

namespace riesz::app {
namespace {

constexpr int kLeastVocabulary = 257;  // the bytes, and the end of a document

class Tokenize : public Command {
 public:
  explicit Tokenize(CLI::App& program)
      : Command(program, "tokenize", "Makes tokens of texts, for training, on any number of ranks") {
    options().add_option("FILES", words_.files, "Texts")->required();
    options()
        .add_option("-o,--output", words_.folder, "The folder that is made, or gone on with")
        ->type_name("FOLDER")
        ->required();
    options()
        .add_option("--tokenizer", words_.tokenizer,
                    "tokenizer.json, or a folder that has one, also a training's")
        ->type_name("PATH");
    add_integer("--vocab-size", words_.vocabulary, "Learns a tokenizer of N tokens from the texts instead",
                kLeastVocabulary);
    options()
        .add_option("--documents", words_.documents,
                    "What is a document: a file, a line, or a text in each line's JSON (jsonl); auto goes by "
                    ".jsonl")
        ->check(CLI::IsMember({"auto", "file", "line", "jsonl"}))
        ->capture_default_str();
    options()
        .add_option("--text-field", words_.member, "The text's name in each line's JSON")
        ->type_name("NAME")
        ->capture_default_str();
    add_ranks();
    add_quiet();
  }

  void check() const override {
    RIESZ_CHECK(words_.tokenizer.empty() == words_.vocabulary.has_value(),
                "give a tokenizer (--tokenizer), or how many tokens one is to learn from the texts "
                "(--vocab-size), and not both");
  }

  bool is_here() const override { return kBodies.tokenize != nullptr; }
  void carry_out() override { print_result(kBodies.tokenize(words_, quiet())); }

 private:
  TokenizeWords words_;
};

}  // namespace

std::unique_ptr<Command> tokenize_command(CLI::App& program) { return std::make_unique<Tokenize>(program); }

}  // namespace riesz::app
