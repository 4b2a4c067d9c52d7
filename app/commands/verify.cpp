// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/verify.h"

#include <string>
#include <vector>

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/settings.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/atomic_file.h"

namespace riesz::app {
namespace {

class Verify : public Command {
 public:
  explicit Verify(CLI::App& program)
      : Command(program, "verify",
                "Verifies a step of a training for any number of workers: messages meet, nobody waits in a "
                "circle; run it alone"),
        settings_(options()) {
    add_integer("--workers", words_.workers, "Workers; layout.dp is then what the other axes leave of them");
    add_integer("--ranks-per-host", words_.host.ranks, "Ranks that are to fit into --host-memory; default 1");
    options()
        .add_option("--host-memory", words_.host.memory, "Memory that a host has left")
        ->type_name("GIB");
    options()
        .add_option("--svg", svg_, "Writes what is wrong, if anything is, as a picture")
        ->type_name("FILE");
    add_json();
    add_quiet();
  }

  std::vector<std::string> keys() const override { return Settings::keys(); }

  void check() const override { settings_.check(); }

  bool is_here() const override { return kBodies.verify != nullptr; }
  void carry_out() override {
    if (Runtime::rank() != 0) return;
    const VerifyReport report = kBodies.verify(settings_.config(), words_, form());
    print_result(report.text);
    if (!svg_.empty() && !report.picture.empty()) write_file(svg_, report.picture);
    RIESZ_CHECK(report.right, "verify: the workers' programs do not fit together");
  }

 private:
  Settings settings_;
  VerifyWords words_;
  std::string svg_;
};

}  // namespace

std::unique_ptr<Command> verify_command(CLI::App& program) { return std::make_unique<Verify>(program); }

}  // namespace riesz::app
