// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/model_options.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/train/config/load_config.h"

namespace riesz::app {

ModelOptions::ModelOptions(CLI::App& command, const std::string& files) {
  command
      .add_option("FOLDER", words_.folder,
                  "A model's folder: " + files + "; or a training's; or a name in Hugging Face's cache")
      ->required();
  command
      .add_option("--device", words_.device,
                  "Where it computes; cuda: rank n of a host on its GPU n; with fewer GPUs ranks share them")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  command
      .add_option("--precision,--dtype", words_.precision, "Type of the weights and of all that is computed")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->capture_default_str();
  command.footer(R"(Settings of the layout, among the arguments:
  layout.tp=N      workers that share each matrix; default all that the others leave
  layout.dp=N      workers that share the rows of a batch; default 1
  layout.ep=N      workers that share out experts, and else each matrix; default 1
  layout.space=H,W workers that share an image's rows, and its columns; default 1,1
  layout.sp=N      workers that share each sequence; default 1
  layout.pp=N      stages, each on workers of its own; default 1
  layout.tensor=T  how matrices are shared: 1d, sp, 2d, 2.5d or 3d; default 1d
  layout=dp2.tp2   several extents in one word
Put another word that looks like one behind --.)");
}

void ModelOptions::add_layout(CLI::App& command, const std::string& hint) {
  const auto refused = [hint](const std::string& word) {
    return "'" + word + "' is one word too many; a setting of the layout is written as layout.tp=2" + hint;
  };
  command.add_option("key=value", layout_, "Settings of the layout, such as layout=dp2.tp2")
      ->check(CLI::Validator(refused, ""));
}

std::vector<std::string> ModelOptions::keys() {
  return {"layout.pp", "layout.dp", "layout.ep", "layout.space", "layout.sp", "layout.tp", "layout.tensor"};
}

void ModelOptions::check() const {
  const std::vector<std::string> read = keys();
  for (const auto& [key, origin] : with_words(Config(), layout_).origins) {
    RIESZ_CHECK(std::count(read.begin(), read.end(), key) > 0, key,
                " is a setting of trainings alone; here a layout has layout.pp, "
                "layout.dp, layout.ep, layout.space, layout.sp, layout.tp and layout.tensor");
  }
}

ModelWords ModelOptions::words() const {
  Config config = with_words(Config(), layout_);
  if (!config.origins.contains("layout.tp")) config.layout.tp = 0;  // what the others leave
  ModelWords words = words_;
  words.pp = config.layout.pp, words.dp = config.layout.dp, words.ep = config.layout.ep;
  words.space = config.layout.space;
  words.sp = config.layout.sp, words.tp = config.layout.tp, words.tensor = config.layout.tensor;
  return words;
}

}  // namespace riesz::app
