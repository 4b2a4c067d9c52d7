// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/settings.h"
#include "riesz/train/config/load_config.h"
#include "riesz/train/config/schema.h"

namespace riesz::app {
namespace {

class Train : public Command {
 public:
  explicit Train(CLI::App& program)
      : Command(program, "train",
                "Trains a GPT, a Llama, one with experts, a ViT, a ResNet, a U-Net or a Fourier neural "
                "operator, on pp x dp x ep x space x sp x tp ranks"),
        settings_(options()) {
    add_ranks();
    add_quiet();
    options().add_flag("--resume", resume_, "Goes on from the last checkpoint");
  }

  std::vector<std::string> keys() const override { return Settings::keys(); }

  void check() const override { settings_.check(); }

  bool is_here() const override { return kBodies.train != nullptr; }
  void carry_out() override {
    Config config = settings_.config();
    config.resume = resume_;
    config.quiet = quiet();
    kBodies.train(config, {});
  }

 private:
  Settings settings_;
  bool resume_ = false;
};

}  // namespace

std::unique_ptr<Command> train_command(CLI::App& program) { return std::make_unique<Train>(program); }

}  // namespace riesz::app
