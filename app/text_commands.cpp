// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/text_commands.h"

#include "riesz/app/model_options.h"

namespace riesz::app {
namespace {

constexpr const char* kFiles = "config.json, *.safetensors, tokenizer.json";

CLI::Option* take_several(CLI::Option* option, const char* type) {
  return option->type_name(type)->expected(1)->take_all();
}

/// How each token is chosen.
void add_sampling(CLI::App& generate, GenerateWords& words) {
  generate.add_option("--temperature", words.temperature, "0: the likeliest token each time")->type_name("X");
  generate.add_option("--top-k", words.top_k, "Draws from the K likeliest alone; 0 from all")->type_name("K");
  generate.add_option("--top-p", words.top_p, "Draws from the likeliest that have this probability together")
      ->type_name("P");
  generate
      .add_option("--repetition-penalty", words.repetition_penalty,
                  "Above 1 against what was written already")
      ->type_name("X");
  generate.add_option("--seed", words.seed, "Of the draws")->type_name("N")->capture_default_str();
}

/// Where a text ends.
void add_ends(CLI::App& generate, GenerateWords& words) {
  take_several(
      generate.add_option("--stop", words.stops, "Ends before this text; may be given several times"),
      "TEXT");
  take_several(generate.add_option("--end", words.ends,
                                   "Ends at this token, its number or text, in place of the folder's"),
               "TOKEN");
  generate.add_option("--when-full", words.when_full, "A full context: stop, or slide: drop its older half")
      ->check(CLI::IsMember({"stop", "slide"}))
      ->capture_default_str();
}

CLI::App* add_generate(CLI::App& program, GenerateWords& words) {
  CLI::App& generate = *program.add_subcommand(
      "generate",
      "Goes on with a text, or answers, by a model's folder; on as many ranks as there are. See "
      "docs/generation.md");
  add_model_options(generate, words.model, kFiles);
  generate.add_option("PROMPT", words.prompt, "What to go on with, or to answer");
  generate
      .add_option("--prompts", words.prompts,
                  "Several instead: a line each, or of each line's JSON (*.jsonl)")
      ->type_name("FILE");
  generate.add_flag("--raw", words.raw,
                    "Goes on with the prompt as it is, though the folder has a chat template");
  generate.add_flag("--chat", words.chat, "Says that it must have one; where it has, that is the default");
  generate.add_option("--system", words.system, "In a chat, what stands before the prompt")
      ->type_name("TEXT");
  generate.add_option("--max-tokens", words.tokens, "New tokens at most; else as the folder says, or 128")
      ->type_name("N");
  add_sampling(generate, words);
  add_ends(generate, words);
  generate.add_option("--at-once", words.at_once, "Prompts at most in one batch")
      ->type_name("N")
      ->capture_default_str();
  generate.add_flag("--json", words.json, "A line of JSON for each prompt, when it has ended");
  return &generate;
}

CLI::App* add_evaluate(CLI::App& program, EvaluateWords& words) {
  CLI::App& evaluate = *program.add_subcommand(
      "evaluate", "Loss and perplexity of a text by a model's folder; on as many ranks as there are");
  EvaluateOptions& options = words.options;
  add_model_options(evaluate, words.model, kFiles);
  evaluate.add_option("TEXT", words.text, "A file")->required();
  evaluate.add_option("--window", options.window, "Tokens of a sequence; default the context, at most 1024")
      ->type_name("N");
  evaluate.add_option("--stride", options.stride, "From one to the next; default half a window")
      ->type_name("N");
  evaluate.add_option("--at-once", options.at_once, "Windows in one batch")
      ->type_name("N")
      ->capture_default_str();
  return &evaluate;
}

}  // namespace

TextCommands::TextCommands(CLI::App& program)
    : generate_(add_generate(program, generate_words_)), evaluate_(add_evaluate(program, evaluate_words_)) {}

std::string TextCommands::problem() const {
  if (generate_->parsed() && generate_words_.prompt.empty() && generate_words_.prompts.empty())
    return "generate: give a prompt, or a file of them (--prompts); see riesz generate --help";
  return "";
}

std::string TextCommands::carry_out() const {
  if (evaluate_->parsed()) return evaluate_report(evaluate_words_);
  generate_text(generate_words_);
  return "";
}

}  // namespace riesz::app
