// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/model_options.h"
#include "riesz/comm/error.h"
#include "riesz/io/tokens/sampling.h"

namespace riesz::app {
namespace {

class Generate : public Command {
 public:
  explicit Generate(CLI::App& program)
      : Command(program, "generate",
                "Continues a text, or answers, with a trained model; on any number of ranks"),
        model_(options(), "config.json, *.safetensors, tokenizer.json") {
    options().add_option("PROMPT", words_.prompt, "The text to continue or to answer");
    model_.add_layout(options(), "; put a prompt of several words in quotes");
    options()
        .add_option("--prompts", words_.prompts,
                    "Several prompts instead: one in each line, or in each line's JSON (*.jsonl)")
        ->type_name("FILE");
    add_chat();
    add_integer("--max-tokens,--max-new-tokens,--n-predict", words_.tokens,
                "New tokens at most; default as the folder says, or 128");
    add_sampling();
    add_ends();
    add_integer("--batch-size", words_.at_once, "Prompts in one batch, at most")->capture_default_str();
    add_ranks();
    options().add_flag("--json", words_.json, "Prints a line of JSON for each prompt, when it has ended");
    add_quiet();
  }

  std::vector<std::string> keys() const override { return ModelOptions::keys(); }
  std::vector<std::string>* layout_words() override { return &model_.layout_words(); }

  void check() const override {
    const bool one = !words_.prompt.empty(), several = !words_.prompts.empty();
    RIESZ_CHECK(one || several, "give a prompt, or a file of them (--prompts)");
    RIESZ_CHECK(!one || !several, "give a prompt or a file of them (--prompts), and not both");
    RIESZ_CHECK(!words_.raw || (!words_.chat && !words_.system),
                "--raw gives the prompt as it is, so --chat and --system have no effect beside it");
    const SamplingOptions any;
    check_sampling({.repetition_penalty = words_.repetition_penalty.value_or(any.repetition_penalty),
                    .temperature = words_.temperature.value_or(any.temperature),
                    .top_k = words_.top_k.value_or(any.top_k),
                    .top_p = words_.top_p.value_or(any.top_p)});
    model_.check();
  }

  bool is_here() const override { return kBodies.generate != nullptr; }
  void carry_out() override {
    words_.model = model_.words();
    words_.quiet = quiet();
    kBodies.generate(words_);
  }

 private:
  void add_chat() {
    options().add_flag("--raw", words_.raw,
                       "Continues the prompt as it is, even if the folder has a chat template");
    options().add_flag("--chat", words_.chat,
                       "Requires a chat template; a folder that has one uses it by default");
    options().add_option("--system", words_.system, "The system message of a chat")->type_name("TEXT");
  }

  /// How each token is chosen.
  void add_sampling() {
    options()
        .add_option("--temperature", words_.temperature, "0: the likeliest token each time")
        ->type_name("X");
    add_integer("--top-k", words_.top_k, "Draws from the N likeliest alone; 0 from all", 0);
    options()
        .add_option("--top-p", words_.top_p, "Draws from the likeliest that have this probability together")
        ->type_name("P");
    options()
        .add_option("--repetition-penalty", words_.repetition_penalty,
                    "Above 1: makes tokens that are there already less likely")
        ->type_name("X");
    add_integer("--seed", words_.seed, "Seed of the draws", 0)->capture_default_str();
  }

  /// Where a text ends.
  void add_ends() {
    options()
        .add_option("--stop", words_.stops, "Ends before this text; may be given several times")
        ->type_name("TEXT")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    options()
        .add_option(
            "--eos-token", words_.ends,
            "Ends at this token, its number or text, in place of the folder's; may be given several times")
        ->type_name("TOKEN")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    options()
        .add_option("--when-full", words_.when_full, "A full context: stop, or slide: drop its older half")
        ->check(CLI::IsMember({"stop", "slide"}))
        ->capture_default_str();
  }

  ModelOptions model_;
  GenerateWords words_;
};

}  // namespace

std::unique_ptr<Command> generate_command(CLI::App& program) { return std::make_unique<Generate>(program); }

}  // namespace riesz::app
