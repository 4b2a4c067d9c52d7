// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/model_options.h"

namespace riesz::app {

void add_model_options(CLI::App& command, ModelWords& words, const std::string& files) {
  command
      .add_option("FOLDER", words.folder,
                  "A model's folder: " + files + "; or a name in Hugging Face's cache")
      ->required();
  const auto workers = [&](const char* name, std::int64_t& value, const char* about) {
    return command.add_option(name, value, about)->type_name("N")->check(CLI::Range(1, 1 << 20));
  };
  workers("--tp", words.tp, "Workers that share each matrix; default all that the others leave");
  workers("--sp", words.sp, "Workers that share each sequence; default 1");
  workers("--dp", words.dp, "Workers that share the rows of a batch; default 1");
  workers("--pp", words.pp, "Stages, each on workers of its own; default 1");
  command.add_option("--tensor", words.tensor, "How matrices are shared: 1d, sp, 2d, 2.5d or 3d")
      ->check(CLI::IsMember({"1d", "sp", "2d", "2.5d", "3d"}))
      ->capture_default_str();
  command.add_option("--precision", words.precision, "Of weights and of all that is computed")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}))
      ->capture_default_str();
}

}  // namespace riesz::app
