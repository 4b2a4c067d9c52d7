// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <cstdio>
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

int run(int argc, char** argv) {
  CLI::App program("Riesz: distributed deep learning as linear algebra", "riesz");
  program.require_subcommand(1);
  std::string file;
  std::vector<std::string> words;
  int rank = 0;
  bool all = false;
  bool spaces = false;
  std::string layer;
  CLI::App* training =
      program.add_subcommand("train", "Trains a GPT; run it under mpirun on dp x sp x tp ranks");
  CLI::App* explaining = program.add_subcommand(
      "explain", "Says what each layer sends in a step of such a training; run it alone, for any layout");
  for (CLI::App* command : {training, explaining}) {
    command->add_option("CONFIG.toml", file, "What to train; see examples/")->required();
    command->add_option("key=value", words, "Settings that go over the file's");
    command->footer("Keys, their defaults and what they may be:\n" + schema_text());
  }
  const CLI::Option* one = explaining->add_option("--rank", rank, "Of the rank R of the layout")
                               ->type_name("R")
                               ->capture_default_str();
  explaining->add_flag("--all", all, "Of all ranks, by operator alone");
  explaining->add_option("--layer", layer, "Of one layer and those below it, such as transformer.h.0")
      ->type_name("PATH");
  explaining->add_flag("--spaces", spaces, "And where each vector and weight lies");
  const std::string command = argc > 1 ? argv[1] : "";
  if (!command.starts_with("-") && command != "train" && command != "explain") {
    return refuse(argc > 1 ? "there is no command " + in_quotes(command) +
                                 ", only train and explain; see riesz --help"
                           : "name a command, train or explain; see riesz --help");
  }
  try {
    program.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return say(program.help(), 0);
  } catch (const CLI::ParseError& error) {
    return refuse(escaped(error.what()) + "; see riesz " + (command.starts_with("-") ? "" : command + " ") +
                  "--help");
  }
  if (all && (one->count() > 0 || spaces || !layer.empty())) {
    return refuse(std::string("explain --all is of all ranks and by operator alone, so ") +
                  (one->count() > 0 ? "--rank"
                   : spaces         ? "--spaces"
                                    : "--layer") +
                  " has no effect beside it; leave out one of the two");
  }
  const Config config = load_config(file, words);
  if (explaining->parsed()) {
    if (Runtime::rank() != 0) return 0;
    if (all) return say(explain_all(config), 0);
    const StepPlan plan = explain(config, rank);
    return say((spaces ? plan.spaces : "") + to_string(layer.empty() ? plan : of_layer(plan, layer)), 0);
  }
  train(config);
  return 0;
}

}  // namespace
}  // namespace riesz::app

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::app::run); }
