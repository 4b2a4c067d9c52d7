// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One training step of the Llama of examples/ or of a ViT, in fp32, on one worker: forward, backward, AdamW.
// Prints "tokens/s N" of the median step, "rss MiB N", the most memory that the steps had beyond what was
// there before the model, and how near the step comes to the rate of products: "sgemm N %".
//   model_step --model vit --width 512
#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "../examples/llama.h"
#include "riesz/models/vit.h"

/// jemalloc's, where it is there.
extern "C" __attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*, std::size_t);

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string model = "llama";
  std::int64_t layers = 4, width = 256, heads = 4, batch = 8, tokens = 128, vocabulary = 256;
  int steps = 15;
};

double status_mib(const std::string& line) {
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string word; status >> word;) {
    if (word == line) status >> kib;
  }
  return kib / 1024;
}

double seconds_of(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Products of matrices a second, in flops, of 1024 × 1024 matrices: the best of some.
double product_rate() {
  const at::Tensor a = at::randn({1024, 1024}), b = at::randn({1024, 1024});
  double least = 1;
  for (int i = 0; i < 12; ++i) least = std::min(least, seconds_of([&] { at::mm(a, b); }));
  return 2.0 * 1024 * 1024 * 1024 / least;
}

/// The model's weights are multiplied once forward and twice backward; so are scores and values.
struct Work {
  double tokens = 0;  ///< a step
  double flops = 0;
};

struct Result {
  Work work;
  std::vector<double> seconds;
};

template <typename Model, typename Step>
Result run_steps(const Options& options, Model& model, const Work& work, const Step& loss_of) {
  AdamW optimizer(whole(model.parameters()), {});
  Result result{work, {}};
  std::int64_t number = 0;
  for (int i = 0; i < options.steps + 3; ++i) {
    const double seconds = seconds_of([&] {
      const ContextScope scope({.training = true, .seed = 1, .step = ++number});
      const Chain chain;
      backward(loss_of());
      optimizer.step();
      optimizer.zero_gradients();
    });
    if (i >= 3) result.seconds.push_back(seconds);
  }
  return result;
}

/// 6 flops a weight and token, and 12·width·keys for the scores and values of each layer.
double flops(const Options& options, double weights, double tokens, double keys) {
  return tokens *
         (6 * weights + 12 * static_cast<double>(options.layers) * static_cast<double>(options.width) * keys);
}

Result llama_steps(const Options& options) {
  const LlamaConfig config{.layers = options.layers,
                           .width = options.width,
                           .heads = options.heads,
                           .key_value_heads = options.heads / 2,
                           .hidden = options.width * 8 / 3,
                           .vocabulary = options.vocabulary};
  Llama model(spaces::one_d(Partition::world().grid({{"tp", 1}})), config);
  model.initialise(1, at::kFloat);
  const at::Tensor ids = at::randint(options.vocabulary, {options.batch, options.tokens}, at::kLong);
  const Vector x = distribute(model.spaces().stream("bt").with_shape(ids.sizes().vec()), ids);
  const Vector targets = distribute(model.spaces().inside("bt").with_shape(ids.sizes().vec()), ids);
  const auto c = static_cast<double>(options.width), f = static_cast<double>(config.hidden);
  const double weights = static_cast<double>(options.layers) * (3 * c * c + 3 * c * f) +
                         c * static_cast<double>(options.vocabulary);
  const auto tokens = static_cast<double>(options.batch * options.tokens);
  const Work work{tokens, flops(options, weights, tokens, static_cast<double>(options.tokens) / 2)};
  return run_steps(options, model, work, [&] { return cross_entropy(model(x), targets).mean(); });
}

Result vit_steps(const Options& options) {
  const models::VitConfig config{.layers = options.layers,
                                 .heads = options.heads,
                                 .width = options.width,
                                 .image = 88,
                                 .patch = 8,
                                 .labels = 10};
  models::Vit model(spaces::one_d(Partition::world().grid({{"tp", 1}})), config);
  model.initialise(1, at::kFloat);
  const at::Tensor images = at::randn({options.batch, config.channels, config.image, config.image});
  const at::Tensor patches = patches_of(images, config);
  const at::Tensor labels = at::randint(config.labels, {options.batch}, at::kLong);
  const Vector x = distribute(model.patches().with_shape(patches.sizes().vec()), patches);
  const Vector targets = distribute(model.targets().with_shape({options.batch}), labels);
  const auto c = static_cast<double>(options.width);
  const double weights = static_cast<double>(options.layers) * 12 * c * c + c * 3 * 8 * 8;
  const auto tokens = static_cast<double>(options.batch * config.tokens());
  const Work work{tokens, flops(options, weights, tokens, static_cast<double>(config.tokens()))};
  return run_steps(options, model, work, [&] { return cross_entropy(model(x), targets).mean(); });
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of a Llama or a ViT, in tokens per second");
  app.add_option("--model", options.model)->check(CLI::IsMember({"llama", "vit"}));
  app.add_option("--steps", options.steps, "that count, after three that do not");
  app.add_option("--layers", options.layers);
  app.add_option("--width", options.width);
  app.add_option("--heads", options.heads);
  app.add_option("--batch", options.batch, "sequences, or images of 122 tokens");
  app.add_option("--tokens", options.tokens, "of a sequence of the Llama");
  app.add_option("--vocabulary", options.vocabulary, "of the Llama");
  CLI11_PARSE(app, argc, argv);
  at::manual_seed(1);
  const double rate = product_rate();
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // of all arenas
  std::ofstream("/proc/self/clear_refs") << "5";
  const double before = status_mib("VmRSS:");
  Result result = options.model == "vit" ? vit_steps(options) : llama_steps(options);
  const auto middle = result.seconds.begin() + static_cast<std::ptrdiff_t>(result.seconds.size() / 2);
  std::nth_element(result.seconds.begin(), middle, result.seconds.end());
  std::printf("tokens/s %.1f\n", result.work.tokens / *middle);
  std::printf("rss MiB %.1f\n", status_mib("VmHWM:") - before);
  std::printf("sgemm %.1f %%\n", 100 * result.work.flops / *middle / rate);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, run); }
