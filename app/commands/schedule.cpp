// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/jobs/schedule.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/escaped.h"
#include "riesz/pipeline/schedule/make_schedule.h"

namespace riesz::app {
namespace {

/// The text below the options in the help: the schedules' names, each with a line about it, and an example.
std::string schedule_help() {
  std::string text = "Schedules:\n";
  for (const NamedSchedule& schedule : named_schedules())
    text += concat("  ", schedule.name, std::string(13 - schedule.name.size(), ' '), schedule.about, "\n");
  return text + R"(
It prints the table, a line for each worker and a cell for each slot; then how long it takes with these costs, which share of
that the workers are idle, and of each worker how long it is busy, how long it waits between its first and its last action,
and what it keeps at most: activations of chunks, inputs to recompute from, versions of weights. A backward pass takes
B + W, a recompute F.

riesz schedule one_f_one_b --stages 4 --micro-batches 8 --svg 1f1b.svg
riesz schedule zb_h1 --stages 4 --micro-batches 8 --costs 1,1.1,0.9,0.1 --csv table.csv
riesz schedule table.csv)";
}

class DrawSchedule : public Command {
 public:
  explicit DrawSchedule(CLI::App& program)
      : Command(program, "schedule",
                "Draws a pipeline's schedule and says how long it takes, for any number of workers; run it "
                "alone") {
    options().add_option("NAME|FILE.csv", request_.what, "A schedule's name, or a table to read")->required();
    add_of_names();
    options().add_flag("--forward-only", request_.forward_only, "The forward passes alone, for evaluation");
    options()
        .add_option("--costs", request_.costs,
                    "Times of forward, of backward of inputs and of weights, of sending")
        ->type_name("F,B,W[,SEND]")
        ->capture_default_str();
    add_integer("--capacity", request_.capacity, "Messages that have room between two workers");
    add_files();
    add_json();
    add_quiet();
    options().footer(schedule_help());
  }

  void check() const override {
    const bool file = request_.what.ends_with(".csv");
    for (const CLI::Option* option : of_names_) {
      RIESZ_CHECK(!file || option->count() == 0, in_quotes(request_.what), ": the file says it, so ",
                  option->get_name(), " has no effect; leave it out");
    }
    RIESZ_CHECK(file || (of_names_[0]->count() > 0 && of_names_[1]->count() > 0), in_quotes(request_.what),
                ": say for how many, with --stages and --micro-batches");
    if (is_here()) kBodies.check_schedule(request_);
  }

  bool is_here() const override { return kBodies.schedule != nullptr; }
  void carry_out() override {
    if (Runtime::rank() == 0) print_result(kBodies.schedule(request_, form()));
  }

 private:
  /// A named schedule takes them; a file says them itself.
  void add_of_names() {
    ScheduleOptions& options = request_.options;
    of_names_ = {
        add_integer("--stages", options.stages, "Workers"),
        add_integer("--micro-batches", options.micro_batches, "Micro-batches"),
        add_integer("--chunks", options.chunks, "interleaved: chunks of the model on each worker; default 2"),
        add_integer("--group", options.group,
                    "interleaved: micro-batches to a chunk's turn; default as many as workers"),
        add_integer("--update-interval", options.update_interval,
                    "two_bw, ampnet: gradients to an update; default as many as workers"),
        add_integer("--in-flight", options.in_flight,
                    "ampnet: micro-batches under way; default as many as workers"),
        this->options().add_flag("--recompute", options.recompute,
                                 "gpipe: all micro-batches but the last recompute")};
  }

  void add_files() {
    options().add_option("--svg", request_.svg, "Writes the timeline as a picture")->type_name("FILE");
    options()
        .add_option("--trace", request_.trace, "Writes the timeline as a Chrome trace, with costs in seconds")
        ->type_name("FILE");
    options()
        .add_option("--csv", request_.csv, "Writes the table, as torch.distributed.pipelining reads it")
        ->type_name("FILE");
  }

  ScheduleRequest request_;
  std::vector<CLI::Option*> of_names_;
};

}  // namespace

std::unique_ptr<Command> schedule_command(CLI::App& program) {
  return std::make_unique<DrawSchedule>(program);
}

}  // namespace riesz::app
