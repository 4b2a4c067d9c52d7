// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/jobs/convert.h"
#include "riesz/app/jobs/print_result.h"

namespace riesz::app {
namespace {

class Convert : public Command {
 public:
  explicit Convert(CLI::App& program)
      : Command(program, "convert", "Writes a model as a Hugging Face folder, on any number of ranks") {
    options()
        .add_option("PATH", words_.path,
                    "A GGUF file, or safetensors: a file, an index, or a folder, also a training's")
        ->required();
    options()
        .add_option("-o,--output", words_.folder, "The folder that is made")
        ->type_name("FOLDER")
        ->required();
    options()
        .add_option("--type,--outtype", words_.type,
                    "Type of all weights; default each as it is, and those of GGUF in fp32")
        ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
    add_integer("--shard-bytes,--max-shard-size", words_.shard_bytes,
                "The most data in one file, such as 5GB; default 5 GB")
        ->transform(CLI::Validator(CLI::AsSizeValue(true)).description(""));
    options().add_flag("--no-tokenizer", words_.no_tokenizer,
                       "Takes the weights and config.json of a GGUF file alone");
    add_ranks();
    add_quiet();
  }

  bool is_here() const override { return kBodies.convert != nullptr; }
  void carry_out() override { print_result(kBodies.convert(words_)); }

 private:
  ConvertWords words_;
};

}  // namespace

std::unique_ptr<Command> convert_command(CLI::App& program) { return std::make_unique<Convert>(program); }

}  // namespace riesz::app
