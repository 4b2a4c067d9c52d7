// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/image_commands.h"

#include "riesz/app/model_options.h"

namespace riesz::app {

ImageCommands::ImageCommands(CLI::App& program) {
  classify_ = program.add_subcommand(
      "classify",
      "Says what images show, by a ViT's folder; on as many ranks as there are. See docs/images.md");
  add_model_options(*classify_, words_.model, "config.json, *.safetensors, preprocessor_config.json");
  classify_->add_option("IMAGES", words_.images, "PNG or JPEG files")->required();
  classify_->add_option("--top", words_.top, "Labels of each, the likeliest; 0: all")
      ->type_name("K")
      ->capture_default_str();
  classify_->add_option("--at-once", words_.at_once, "Images in one batch")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace riesz::app
