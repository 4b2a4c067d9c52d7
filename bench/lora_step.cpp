// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A step of LoRA on the Llama of examples/ beside a step that trains all of it, in turn: forward, backward
// and AdamW.
//   mpirun -n 2 lora_step --layout sp
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "../examples/lora.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string layout = "tp";
  int rounds = 11;
  bool processor = false;
  std::int64_t batch = 4, tokens = 128, rank = 8;
  LlamaConfig model{
      .layers = 4, .width = 256, .heads = 8, .key_value_heads = 4, .hidden = 688, .vocabulary = 4096};
};

Layout layout_of(const std::string& name) {
  const Partition world = Partition::world();
  if (name == "2d") {
    RIESZ_CHECK(world.size() % 2 == 0, "lora_step: --layout 2d takes an even number of workers");
    return spaces::two_d(world.grid({{"row", world.size() / 2}, {"column", 2}}), Sequence::whole);
  }
  const Partition mesh = world.grid({{"tp", world.size()}});
  RIESZ_CHECK(name == "tp" || name == "sp", "lora_step: --layout is tp, sp or 2d, not ", name);
  return name == "tp" ? spaces::one_d(mesh) : spaces::sequence_parallel(mesh);
}

double largest(double number) {
  double most = number;
  for (const at::Tensor& each :
       collect("measured", Partition::world(), at::scalar_tensor(number, at::kDouble)))
    most = std::max(most, each.item<double>());
  return most;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The model, of which all is trained or the adapters are.
class Run {
 public:
  Run(const Options& options, bool adapters)
      : model_(layout_of(options.layout), options.model, options.rank) {
    model_.initialise(1, at::kFloat);
    if (adapters) model_.train_adapters();
    optimizer_.emplace(whole(model_.parameters()), AdamWOptions{});
    const at::Tensor ids = at::randint(options.model.vocabulary, {options.batch, options.tokens}, at::kLong);
    ids_.emplace(distribute(model_.spaces().stream("bt").with_shape(ids.sizes().vec()), ids));
    targets_.emplace(distribute(model_.spaces().inside("bt").with_shape(ids.sizes().vec()), ids));
  }

  /// Of the slowest worker: elapsed, or of its processor, which tells more beside other programs.
  double seconds(bool processor) {
    largest(0);  // all begin at one time
    const auto begin = Clock::now();
    const std::clock_t used = std::clock();
    const Chain chain;
    backward(cross_entropy(model_(*ids_), *targets_).mean());
    optimizer_->step();
    optimizer_->zero_gradients();
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    return largest(processor ? static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC : elapsed);
  }

 private:
  LoraLlama model_;
  std::optional<AdamW> optimizer_;
  std::optional<Vector> ids_, targets_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("A step of LoRA beside a step that trains the whole model");
  app.add_option("--layout", options.layout, "tp, sp or 2d, of all workers");
  app.add_option("--rounds", options.rounds, "that count, after one that does not");
  app.add_flag("--processor", options.processor, "the processor's time, not the time that passes");
  app.add_option("--batch", options.batch);
  app.add_option("--tokens", options.tokens);
  app.add_option("--rank", options.rank, "of the adapters");
  app.add_option("--layers", options.model.layers);
  app.add_option("--width", options.model.width);
  app.add_option("--hidden", options.model.hidden);
  app.add_option("--vocabulary", options.model.vocabulary);
  CLI11_PARSE(app, argc, argv);
  at::manual_seed(1);  // the same tokens on all workers
  Run all(options, false), adapters(options, true);
  std::vector<double> of_all, of_adapters, ratios;
  for (int round = -1; round < options.rounds; ++round) {
    const bool first = round % 2 == 0;
    double some = first ? adapters.seconds(options.processor) : 0;
    const double whole = all.seconds(options.processor);
    if (!first) some = adapters.seconds(options.processor);
    if (round < 0) continue;
    of_all.push_back(whole), of_adapters.push_back(some), ratios.push_back(some / whole);
  }
  std::sort(ratios.begin(), ratios.end());
  if (Runtime::rank() == 0)
    std::printf("%s: all %.2f ms, adapters %.2f ms: %.3f (%.3f to %.3f) of it\n", options.layout.c_str(),
                1e3 * median(of_all), 1e3 * median(of_adapters), median(ratios), ratios.front(),
                ratios.back());
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, run); }
