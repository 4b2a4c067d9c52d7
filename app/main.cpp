// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/convert.h"
#include "riesz/app/explain.h"
#include "riesz/app/image_commands.h"
#include "riesz/app/inspect.h"
#include "riesz/app/plan_memory.h"
#include "riesz/app/schedule.h"
#include "riesz/app/text_commands.h"
#include "riesz/app/tokenize.h"
#include "riesz/app/train.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/train/load_config.h"
#include "riesz/train/schema.h"

namespace riesz::app {
namespace {

/// Prints once, whatever the number of ranks; returns the status.
int say(const std::string& text, int status) {
  if (Runtime::rank() == 0) std::fputs(text.c_str(), status == 0 ? stdout : stderr);
  return status;
}

/// Says what is wrong with the command line.
int refuse(const std::string& text) { return say("riesz: " + text + "\n", kReported); }

/// The commands and their options, and what a command line says of them.
class CommandLine {
 public:
  CommandLine();
  /// Nothing where it says what to do; else the status with which the program ends, once it has said why.
  std::optional<int> read(int argc, char** argv);
  int carry_out();

 private:
  void add_convert();
  void add_inspect();
  void add_schedule();
  void add_tokenize();
  std::optional<int> check_options() const;
  int explain_step(const Config& config) const;

  CLI::App program_{"Riesz: distributed deep learning as linear algebra", "riesz"};
  CLI::App* explain_ = nullptr;
  CLI::App* convert_ = nullptr;
  CLI::App* inspect_ = nullptr;
  CLI::App* plan_memory_ = nullptr;
  CLI::App* schedule_ = nullptr;
  CLI::App* tokenize_ = nullptr;
  CLI::Option* one_ = nullptr;
  std::string file_;
  std::vector<std::string> words_;
  int rank_ = 0;
  bool all_ = false;
  bool spaces_ = false;
  std::string layer_;
  bool resume_ = false;
  HostWords host_;
  std::string path_;   // of `inspect`
  std::string other_;  // and what it is compared with
  ConvertWords convert_words_;
  ScheduleRequest request_;
  TokenizeWords tokenize_words_;
  std::optional<TextCommands> text_;
  std::optional<ImageCommands> image_;
  std::vector<CLI::Option*> of_names_;  // of `schedule`, that a file leaves nothing to say
};

CommandLine::CommandLine() {
  program_.require_subcommand(1);
  CLI::App* train = program_.add_subcommand(
      "train", "Trains a GPT, a Llama or a ViT; run it under mpirun on pp x dp x sp x tp ranks");
  explain_ = program_.add_subcommand(
      "explain", "Says what each layer sends in a step of such a training; run it alone, for any layout");
  plan_memory_ = program_.add_subcommand(
      "plan-memory",
      "Says what memory each rank of such a training takes, and whether it fits; run it alone");
  for (CLI::App* command : {train, explain_, plan_memory_}) {
    command->add_option("CONFIG.toml", file_, "What to train; see examples/")->required();
    command->add_option("key=value", words_, "Settings that go over the file's");
    command->footer("Keys, their defaults and what they may be:\n" + schema_text());
  }
  train->add_flag("--resume", resume_, "Goes on from the last checkpoint (checkpoint.every)");
  one_ = explain_->add_option("--rank", rank_, "Of the rank R of the layout")
             ->type_name("R")
             ->capture_default_str();
  explain_->add_flag("--all", all_, "Of all ranks, by operator alone");
  explain_->add_option("--layer", layer_, "Of one layer and those below it, such as transformer.h.0")
      ->type_name("PATH");
  explain_->add_flag("--spaces", spaces_, "And where each vector and weight lies");
  add_convert();
  plan_memory_->add_option("--ranks", host_.ranks, "That run on one host; default all of the layout's")
      ->type_name("N");
  plan_memory_->add_option("--host-memory", host_.memory, "That it has left; default what this one has now")
      ->type_name("GIB");
  add_inspect();
  add_schedule();
  add_tokenize();
  text_.emplace(program_);
  image_.emplace(program_);
}

void CommandLine::add_convert() {
  convert_ = program_.add_subcommand(
      "convert",
      "Writes a model as a Hugging Face folder; on as many ranks as there are. See docs/convert.md");
  convert_
      ->add_option("PATH", convert_words_.path, "A GGUF file, or safetensors: a file, an index or a folder")
      ->required();
  convert_->add_option("-o,--output", convert_words_.folder, "The folder that is made")
      ->type_name("FOLDER")
      ->required();
  convert_
      ->add_option("--type", convert_words_.type,
                   "fp32, bf16 or fp16, of all weights; else each as it is, and those of GGUF in fp32")
      ->type_name("TYPE");
  convert_->add_option("--shard-bytes", convert_words_.shard_bytes, "The most data in one file; default 5 GB")
      ->type_name("N");
  convert_->add_flag("--no-tokenizer", convert_words_.no_tokenizer,
                     "Of a GGUF file, the weights and config.json alone");
}

void CommandLine::add_inspect() {
  inspect_ = program_.add_subcommand(
      "inspect", "Lists the tensors of safetensors files, or the differences of two; run it alone");
  inspect_->add_option("PATH", path_, "A file, an index, or a folder such as a checkpoint")->required();
  inspect_->add_option("OTHER", other_, "What to compare it with");
}

void CommandLine::add_schedule() {
  schedule_ = program_.add_subcommand(
      "schedule",
      "Draws a pipeline's schedule and says how long it takes; run it alone, for any number of workers");
  schedule_->add_option("NAME|FILE.csv", request_.what, "A schedule's name, or a table to read")->required();
  const auto number = [&](const char* name, int& value, const char* about) {
    return schedule_->add_option(name, value, about)->type_name("N");
  };
  ScheduleOptions& options = request_.options;
  of_names_ = {
      number("--stages", options.stages, "Workers"),
      number("--micro-batches", options.micro_batches, "Micro-batches"),
      number("--chunks", options.chunks, "interleaved: chunks of the model on each worker; default 2"),
      number("--group", options.group,
             "interleaved: micro-batches to a chunk's turn; default as many as workers"),
      number("--update-interval", options.update_interval,
             "two_bw, ampnet: gradients to an update; default as many as workers"),
      number("--in-flight", options.in_flight, "ampnet: micro-batches under way; default as many as workers"),
      schedule_->add_flag("--recompute", options.recompute,
                          "gpipe: all micro-batches but the last recompute")};
  schedule_->add_flag("--forward-only", request_.forward_only, "The forward passes alone, for evaluation");
  schedule_
      ->add_option("--costs", request_.costs,
                   "Times of forward, of backward of inputs and of weights, of sending")
      ->type_name("F,B,W[,SEND]")
      ->capture_default_str();
  schedule_->add_option("--capacity", request_.capacity, "Messages that have room between two workers")
      ->type_name("N");
  schedule_->add_option("--svg", request_.svg, "Writes the timeline as a picture")->type_name("FILE");
  schedule_
      ->add_option("--trace", request_.trace, "Writes the timeline as a Chrome trace, with costs in seconds")
      ->type_name("FILE");
  schedule_->add_option("--csv", request_.csv, "Writes the table, as torch.distributed.pipelining reads it")
      ->type_name("FILE");
  schedule_->footer(schedule_help());
}

void CommandLine::add_tokenize() {
  tokenize_ = program_.add_subcommand(
      "tokenize", "Makes tokens of texts, for training; on as many ranks as there are. See docs/text.md");
  tokenize_->add_option("FILES", tokenize_words_.files, "Texts")->required();
  tokenize_->add_option("-o,--output", tokenize_words_.folder, "The folder that is made, or gone on with")
      ->type_name("DIR")
      ->required();
  tokenize_->add_option("--tokenizer", tokenize_words_.tokenizer, "tokenizer.json, or a folder that has one")
      ->type_name("PATH");
  tokenize_
      ->add_option("--vocabulary", tokenize_words_.vocabulary,
                   "Learns one of N tokens from the texts instead")
      ->type_name("N");
  tokenize_
      ->add_option("--documents", tokenize_words_.documents,
                   "What is one: a file, a line, or a text in each line's JSON (jsonl); auto goes by .jsonl")
      ->type_name("WHAT")
      ->capture_default_str();
  tokenize_->add_option("--member", tokenize_words_.member, "The text's name in each line's JSON")
      ->type_name("NAME")
      ->capture_default_str();
}

std::optional<int> CommandLine::read(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  const std::vector<std::string> commands = {"train",   "generate", "evaluate",    "classify", "convert",
                                             "explain", "inspect",  "plan-memory", "schedule", "tokenize"};
  if (!command.starts_with("-") && std::count(commands.begin(), commands.end(), command) == 0) {
    std::string all = commands.front();
    for (std::size_t i = 1; i < commands.size(); ++i)
      all += (i + 1 < commands.size() ? ", " : " or ") + commands[i];
    return refuse((argc > 1 ? "there is no command " + in_quotes(command) + ", only " : "name a command, ") +
                  all + "; see riesz --help");
  }
  try {
    program_.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return say(program_.help(), 0);
  } catch (const CLI::ParseError& error) {
    return refuse(escaped(error.what()) + "; see riesz " + (command.starts_with("-") ? "" : command + " ") +
                  "--help");
  }
  return check_options();
}

std::optional<int> CommandLine::check_options() const {
  if (const std::string problem = text_->problem(); !problem.empty()) return refuse(problem);
  const bool file = request_.what.ends_with(".csv");
  for (const CLI::Option* option : of_names_) {
    if (file && option->count() > 0)
      return refuse("schedule " + in_quotes(request_.what) + ": the file says it, so " + option->get_name() +
                    " has no effect; leave it out");
  }
  if (schedule_->parsed() && !file && (of_names_[0]->count() == 0 || of_names_[1]->count() == 0))
    return refuse("schedule " + in_quotes(request_.what) +
                  ": say for how many, with --stages and --micro-batches; see riesz schedule --help");
  const char* other = one_->count() > 0 ? "--rank"
                      : spaces_         ? "--spaces"
                      : layer_.empty()  ? nullptr
                                        : "--layer";
  if (!all_ || other == nullptr) return std::nullopt;
  return refuse(std::string("explain --all is of all ranks and by operator alone, so ") + other +
                " has no effect beside it; leave out one of the two");
}

int CommandLine::explain_step(const Config& config) const {
  if (Runtime::rank() != 0) return 0;
  if (all_) return say(explain_all(config), 0);
  const StepPlan plan = explain(config, rank_);
  return say((spaces_ ? plan.spaces : "") + to_string(layer_.empty() ? plan : of_layer(plan, layer_)), 0);
}

int CommandLine::carry_out() {
  if (convert_->parsed()) return say(convert_report(convert_words_), 0);
  if (inspect_->parsed()) {
    if (Runtime::rank() != 0) return 0;
    return say(other_.empty() ? inspect_report(path_) : difference_report(path_, other_), 0);
  }
  if (schedule_->parsed()) return Runtime::rank() == 0 ? say(schedule_report(request_), 0) : 0;
  if (text_->parsed()) return say(text_->carry_out(), 0);
  if (image_->parsed()) return image_->carry_out(), 0;
  if (tokenize_->parsed()) return say(tokenize_report(tokenize_words_), 0);
  Config config = load_config(file_, words_);
  config.resume = resume_;
  if (explain_->parsed()) return explain_step(config);
  if (plan_memory_->parsed()) return Runtime::rank() == 0 ? say(memory_plan(config, host_), 0) : 0;
  train(config);
  return 0;
}

int run(int argc, char** argv) {
  CommandLine line;
  const std::optional<int> status = line.read(argc, argv);
  return status ? *status : line.carry_out();
}

}  // namespace
}  // namespace riesz::app

int main(int argc, char** argv) { riesz::leave(riesz::run_main(argc, argv, riesz::app::run)); }
