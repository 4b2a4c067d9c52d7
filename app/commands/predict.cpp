// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/predict.h"

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/model_options.h"
#include "riesz/comm/error.h"

namespace riesz::app {
namespace {

class Predict : public Command {
 public:
  explicit Predict(CLI::App& program)
      : Command(program, "predict",
                "Labels the pixels of images, or finds fields, with a trained U-Net or Fourier neural "
                "operator; on "
                "any number of ranks"),
        model_(options(), "config.json, *.safetensors") {
    options()
        .add_option("INPUTS", words_.inputs, "Images or fields: FILE.npy, or FILE.h5:DATASET")
        ->required();
    options().add_option("OUTPUT", words_.output, "The file that is written, FILE.npy")->required();
    model_.add_layout(options());
    add_integer(
        "--tile", words_.tile,
        "Rows and columns of a tile, which is predicted with the pixels around it that it depends on; "
        "default 0, as large as an image",
        0);
    add_integer("--tiles-at-once", words_.at_once,
                "Tiles in one call, over all ranks; default one for each of layout.dp");
    add_ranks();
    add_quiet();
  }

  std::vector<std::string> keys() const override { return ModelOptions::keys(); }
  std::vector<std::string>* layout_words() override { return &model_.layout_words(); }
  void check() const override { model_.check(); }

  bool is_here() const override { return kBodies.predict != nullptr; }
  void carry_out() override {
    words_.model = model_.words();
    words_.quiet = quiet();
    kBodies.predict(words_);
  }

 private:
  ModelOptions model_;
  PredictWords words_;
};

}  // namespace

std::unique_ptr<Command> predict_command(CLI::App& program) { return std::make_unique<Predict>(program); }

}  // namespace riesz::app
