// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/jobs/classify.h"

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/model_options.h"

namespace riesz::app {
namespace {

class Classify : public Command {
 public:
  explicit Classify(CLI::App& program)
      : Command(program, "classify", "Labels images with a trained ViT or ResNet; on any number of ranks"),
        model_(options(), "config.json, *.safetensors, preprocessor_config.json") {
    options().add_option("IMAGES", words_.images, "PNG or JPEG files")->required();
    model_.add_layout(options());
    add_integer("--top", words_.top, "Likeliest labels of each image; 0: all", 0)->capture_default_str();
    add_integer("--batch-size", words_.at_once, "Images in one batch")->capture_default_str();
    add_ranks();
    options().add_flag("--json", words_.json, "Prints a line of JSON for each image");
    add_quiet();
  }

  std::vector<std::string> keys() const override { return ModelOptions::keys(); }
  std::vector<std::string>* layout_words() override { return &model_.layout_words(); }
  void check() const override { model_.check(); }

  bool is_here() const override { return kBodies.classify != nullptr; }
  void carry_out() override {
    words_.model = model_.words();
    words_.quiet = quiet();
    kBodies.classify(words_);
  }

 private:
  ModelOptions model_;
  ClassifyWords words_;
};

}  // namespace

std::unique_ptr<Command> classify_command(CLI::App& program) { return std::make_unique<Classify>(program); }

}  // namespace riesz::app
