// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/plan_memory.h"

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/settings.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/runtime.h"

namespace riesz::app {
namespace {

class PlanMemory : public Command {
 public:
  explicit PlanMemory(CLI::App& program)
      : Command(program, "plan-memory",
                "Says what memory each rank of a training takes, and whether it fits; run it alone"),
        settings_(options()) {
    add_integer("--ranks-per-host", host_.ranks, "Ranks that run on one host; default all of the layout's");
    options()
        .add_option("--host-memory", host_.memory,
                    "Memory that a host has left; default what this one has now")
        ->type_name("GIB");
    add_integer("--predict", host_.predicts,
                "Also says what predicting an image or field takes, of N rows and columns");
    add_integer("--tile", host_.tile, "Rows and columns of its tiles, as of riesz predict", 0);
    add_integer("--tiles-at-once", host_.at_once, "Tiles in one call; default one for each of layout.dp");
    add_json();
    add_quiet();
  }

  std::vector<std::string> keys() const override { return Settings::keys(); }

  void check() const override {
    settings_.check();
    const std::optional<Config> config = settings_.readable();
    if (config && is_here()) kBodies.check_host(*config, host_);
  }

  bool is_here() const override { return kBodies.plan_memory != nullptr; }
  void carry_out() override {
    if (Runtime::rank() == 0) print_result(kBodies.plan_memory(settings_.config(), host_, form()));
  }

 private:
  Settings settings_;
  HostWords host_;
};

}  // namespace

std::unique_ptr<Command> plan_memory_command(CLI::App& program) {
  return std::make_unique<PlanMemory>(program);
}

}  // namespace riesz::app
