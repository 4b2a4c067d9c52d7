// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/app/models/pretrained.h"
#include "riesz/comm/runtime.h"

namespace riesz::app {
namespace {

class Inspect : public Command {
 public:
  explicit Inspect(CLI::App& program)
      : Command(program, "inspect",
                "Lists the tensors of safetensors files, or the differences of two; run it alone") {
    options()
        .add_option("PATH", path_, "A file, an index, or a folder such as a checkpoint or a training's")
        ->required();
    options().add_option("OTHER", other_, "The one to compare it with");
    add_json();
    add_quiet();
  }

  bool is_here() const override { return kBodies.inspect != nullptr; }
  void carry_out() override {
    if (Runtime::rank() != 0) return;
    if (!quiet()) print_note(taken_text(path_) + (other_.empty() ? "" : taken_text(other_)));
    print_result(kBodies.inspect(path_, other_, form()));
  }

 private:
  std::string path_;
  std::string other_;
};

}  // namespace

std::unique_ptr<Command> inspect_command(CLI::App& program) { return std::make_unique<Inspect>(program); }

}  // namespace riesz::app
