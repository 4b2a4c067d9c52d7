// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/doctor/doctor.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"
#include "riesz/comm/start/launcher.h"

namespace riesz::app {
namespace {

class Doctor : public Command {
 public:
  explicit Doctor(CLI::App& program)
      : Command(program, "doctor",
                "Says whether this machine is ready: versions, hosts, links, adjoints, a short training") {
    add_ranks();
    add_json();
    add_quiet();
    options().footer(
        "Without -n and without a launcher it starts 2 ranks. It prints what is wrong behind <-.");
  }

  std::optional<std::int64_t> ranks() const override {
    const std::optional<std::int64_t> asked = Command::ranks();
    return asked || launched_rank() ? asked : 2;
  }

  bool is_here() const override { return kBodies.doctor != nullptr; }
  void carry_out() override {
    const Diagnosis diagnosis = kBodies.doctor(form());
    print_result(diagnosis.text);
    RIESZ_CHECK(diagnosis.right, "doctor: numbers are wrong on this machine; look at the lines with <-");
  }
};

}  // namespace

std::unique_ptr<Command> doctor_command(CLI::App& program) { return std::make_unique<Doctor>(program); }

}  // namespace riesz::app
