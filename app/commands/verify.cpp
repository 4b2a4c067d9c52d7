// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/verify.h"

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/settings.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"

namespace riesz::app {
namespace {

class Verify : public Command {
 public:
  explicit Verify(CLI::App& program)
      : Command(program, "verify",
                "Verifies a step of a training for any number of workers: messages meet, nobody waits in a "
                "circle; run it alone"),
        settings_(options()) {
    add_integer("--workers", workers_, "Workers; layout.dp is then what the other axes leave of them");
    add_integer("--ranks-per-host", host_.ranks, "Ranks that are to fit into --host-memory; default 1");
    options().add_option("--host-memory", host_.memory, "Memory that a host has left")->type_name("GIB");
    add_json();
  }

  void check() const override { settings_.check(); }

  void carry_out() override {
    if (Runtime::rank() != 0) return;
    Config config = settings_.config();
    if (workers_) config = on_workers(config, *workers_);
    const Verified verified = verify(config, host_);
    print_result(form() == Form::json ? to_json(verified) : to_string(verified));
    RIESZ_CHECK(verified.right(), "verify: the workers' programs do not fit together");
  }

 private:
  Settings settings_;
  HostWords host_;
  std::optional<std::int64_t> workers_;
};

}  // namespace

std::unique_ptr<Command> verify_command(CLI::App& program) { return std::make_unique<Verify>(program); }

}  // namespace riesz::app
