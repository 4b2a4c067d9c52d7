// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <optional>

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/settings.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"

namespace riesz::app {
namespace {

class Explain : public Command {
 public:
  explicit Explain(CLI::App& program)
      : Command(program, "explain",
                "Says what each layer sends in a step of a training, for any layout; run it alone"),
        settings_(options()) {
    one_ = add_integer("--rank", words_.rank, "The rank of the layout that is explained", 0)
               ->type_name("R")
               ->capture_default_str();
    options().add_flag("--all", words_.all, "All ranks, by operator alone");
    options()
        .add_option("--layer", words_.layer,
                    "One layer and those below it, such as transformer.h.0; without the sums of "
                    "gradients in buckets, which have names of their own")
        ->type_name("PATH");
    options().add_flag("--spaces", words_.spaces, "Also where each vector and weight lies");
    add_json();
    add_quiet();
  }

  std::vector<std::string> keys() const override { return Settings::keys(); }

  void check() const override {
    settings_.check();
    const char* other = one_->count() > 0      ? "--rank"
                        : words_.spaces        ? "--spaces"
                        : words_.layer.empty() ? nullptr
                                               : "--layer";
    RIESZ_CHECK(!words_.all || other == nullptr, "--all is of all ranks and by operator alone, so ", other,
                " has no effect beside it; leave out one of the two");
    const std::optional<Config> config = settings_.readable();
    if (config && !words_.all && is_here()) kBodies.check_rank(*config, words_.rank);
  }

  bool is_here() const override { return kBodies.explain != nullptr; }
  void carry_out() override {
    if (Runtime::rank() != 0) return;
    print_result(kBodies.explain(settings_.config(), words_, form()));
  }

 private:
  Settings settings_;
  CLI::Option* one_ = nullptr;
  ExplainWords words_;
};

}  // namespace

std::unique_ptr<Command> explain_command(CLI::App& program) { return std::make_unique<Explain>(program); }

}  // namespace riesz::app
