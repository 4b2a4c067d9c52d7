// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "riesz/app/explain.h"
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
  std::optional<int> check_options() const;
  int explain_step(const Config& config) const;

  CLI::App program_{"Riesz: distributed deep learning as linear algebra", "riesz"};
  CLI::App* explain_ = nullptr;
  CLI::Option* one_ = nullptr;
  std::string file_;
  std::vector<std::string> words_;
  int rank_ = 0;
  bool all_ = false;
  bool spaces_ = false;
  std::string layer_;
};

CommandLine::CommandLine() {
  program_.require_subcommand(1);
  CLI::App* train =
      program_.add_subcommand("train", "Trains a GPT; run it under mpirun on dp x sp x tp ranks");
  explain_ = program_.add_subcommand(
      "explain", "Says what each layer sends in a step of such a training; run it alone, for any layout");
  for (CLI::App* command : {train, explain_}) {
    command->add_option("CONFIG.toml", file_, "What to train; see examples/")->required();
    command->add_option("key=value", words_, "Settings that go over the file's");
    command->footer("Keys, their defaults and what they may be:\n" + schema_text());
  }
  one_ = explain_->add_option("--rank", rank_, "Of the rank R of the layout")
             ->type_name("R")
             ->capture_default_str();
  explain_->add_flag("--all", all_, "Of all ranks, by operator alone");
  explain_->add_option("--layer", layer_, "Of one layer and those below it, such as transformer.h.0")
      ->type_name("PATH");
  explain_->add_flag("--spaces", spaces_, "And where each vector and weight lies");
}

std::optional<int> CommandLine::read(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  if (!command.starts_with("-") && command != "train" && command != "explain") {
    return refuse(argc > 1 ? "there is no command " + in_quotes(command) +
                                 ", only train and explain; see riesz --help"
                           : "name a command, train or explain; see riesz --help");
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
  const Config config = load_config(file_, words_);
  if (explain_->parsed()) return explain_step(config);
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
