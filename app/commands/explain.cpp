// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/explain.h"

#include "riesz/app/commands/all_commands.h"
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
    one_ = add_integer("--rank", rank_, "The rank of the layout that is explained", 0)
               ->type_name("R")
               ->capture_default_str();
    options().add_flag("--all", all_, "All ranks, by operator alone");
    options()
        .add_option("--layer", layer_, "One layer and those below it, such as transformer.h.0")
        ->type_name("PATH");
    options().add_flag("--spaces", spaces_, "Also where each vector and weight lies");
    add_json();
  }

  void check() const override {
    settings_.check();
    const char* other = one_->count() > 0 ? "--rank"
                        : spaces_         ? "--spaces"
                        : layer_.empty()  ? nullptr
                                          : "--layer";
    RIESZ_CHECK(!all_ || other == nullptr, "--all is of all ranks and by operator alone, so ", other,
                " has no effect beside it; leave out one of the two");
  }

  void carry_out() override {
    if (Runtime::rank() != 0) return;
    const Config config = settings_.config();
    if (all_) return print_result(explain_all(config, form()));
    const StepPlan whole = explain(config, rank_);
    const StepPlan plan = layer_.empty() ? whole : of_layer(whole, layer_);
    if (form() == Form::json) return print_result(to_json(plan));
    print_result((spaces_ ? plan.spaces : "") + to_string(plan));
  }

 private:
  Settings settings_;
  CLI::Option* one_ = nullptr;
  int rank_ = 0;
  bool all_ = false;
  bool spaces_ = false;
  std::string layer_;
};

}  // namespace

std::unique_ptr<Command> explain_command(CLI::App& program) { return std::make_unique<Explain>(program); }

}  // namespace riesz::app
