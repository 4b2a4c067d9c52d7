// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <tuple>

#include "riesz/app/commands/all_commands.h"
#include "riesz/app/commands/bodies.h"
#include "riesz/app/commands/model_options.h"
#include "riesz/app/jobs/print_result.h"
#include "riesz/comm/error.h"

namespace riesz::app {
namespace {

class Evaluate : public Command {
 public:
  explicit Evaluate(CLI::App& program)
      : Command(program, "evaluate",
                "Loss and perplexity of a text by a trained model; on any number of ranks"),
        model_(options(), "config.json, *.safetensors, tokenizer.json") {
    options().add_option("TEXT", words_.text, "A file")->required();
    model_.add_layout(options());
    EvaluateOptions& windows = words_.options;
    add_integer("--window", windows.window, "Tokens of a sequence; default the context, at most 1024", 2);
    add_integer("--stride", windows.stride, "From one to the next; default half a window");
    add_integer("--batch-size", windows.at_once, "Windows in one batch")->capture_default_str();
    add_ranks();
    add_json();
    add_quiet();
  }

  std::vector<std::string> keys() const override { return ModelOptions::keys(); }
  std::vector<std::string>* layout_words() override { return &model_.layout_words(); }
  void check() const override {
    const auto& [window, stride] = std::tie(words_.options.window, words_.options.stride);
    RIESZ_CHECK(window == 0 || stride <= window, "--stride ", stride, " is longer than --window ", window,
                ", so tokens between two windows would not be scored");
    model_.check();
  }

  bool is_here() const override { return kBodies.evaluate != nullptr; }
  void carry_out() override {
    words_.model = model_.words();
    words_.quiet = quiet();
    print_result(kBodies.evaluate(words_, form()));
  }

 private:
  ModelOptions model_;
  EvaluateWords words_;
};

}  // namespace

std::unique_ptr<Command> evaluate_command(CLI::App& program) { return std::make_unique<Evaluate>(program); }

}  // namespace riesz::app
