// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One training step of a byte-level GPT in fp32: Riesz's minGPT at a layout, or the plain LibTorch implementation that
// the tests compare it with, on one worker. Prints "tokens/s N" of the median step. bench/paired.py pairs two of them.
#include <ATen/ops/randint.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "plain_min_gpt.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/cross_entropy.h"
#include "riesz/optim/adamw.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

struct Options {
  bool plain = false;
  int dp = 1;
  int tp = 1;
  int steps = 20;
  std::int64_t batch = 8;
  models::MinGptConfig model{.layers = 4, .heads = 4, .width = 128, .vocabulary = 256, .context = 128, .dropout = 0};
};

double median_seconds(int steps, const std::function<void()>& step) {
  std::vector<double> seconds;
  for (int i = 0; i < steps + 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    step();
    if (i >= 3) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + steps / 2, seconds.end());
  return seconds[static_cast<std::size_t>(steps / 2)];
}

at::Tensor tokens_of(const Options& options) {
  return at::randint(options.model.vocabulary, {options.batch, options.model.context}, at::kLong);
}

double riesz_seconds(const Options& options) {
  const Partition mesh = Partition::world().grid({{"dp", options.dp}, {"tp", options.tp}});
  models::MinGpt model(models::spaces::one_d(mesh, options.model), options.model);
  model.initialise(1, at::kFloat);
  AdamW optimizer(model.parameters());
  const Space tokens = model.spaces().tokens.with_shape({options.batch, options.model.context});
  const Vector ids = distribute(tokens, tokens_of(options));
  const Vector targets = distribute(tokens, tokens_of(options));
  return median_seconds(options.steps, [&] {
    Chain chain;
    const Loss loss = cross_entropy(model(ids), targets);
    backward((1.0 / static_cast<double>(loss.count)) * loss.sum);
    optimizer.step();
    optimizer.zero_gradients();
  });
}

/// The plain model with the same fused AdamW, so that only the model differs.
double plain_seconds(const Options& options) {
  const Partition alone = Partition::world().grid({{"dp", 1}, {"tp", 1}});
  const models::MinGpt names(models::spaces::one_d(alone, options.model), options.model);
  std::vector<Parameter> parameters;
  plain::Weights weights;
  for (const Parameter& published : names.parameters()) {
    parameters.emplace_back(published.name(), Space(alone, published.shape()),
                            ParameterOptions{Initial::normal(0.02), published.decays()});
    parameters.back().initialise(1, at::kFloat);
    weights[published.name()] = parameters.back().value().local();
  }
  AdamW optimizer(parameters);
  const at::Tensor ids = tokens_of(options);
  const at::Tensor targets = tokens_of(options);
  return median_seconds(options.steps, [&] {
    plain::cross_entropy(plain::min_gpt(options.model, weights, ids), targets).backward();
    optimizer.step();
    optimizer.zero_gradients();
  });
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of a GPT, in tokens per second");
  app.add_flag("--plain", options.plain, "plain LibTorch on one worker");
  app.add_option("--dp", options.dp);
  app.add_option("--tp", options.tp);
  app.add_option("--steps", options.steps, "steps that count, after three that do not");
  app.add_option("--batch", options.batch, "sequences, over all workers");
  app.add_option("--layers", options.model.layers);
  app.add_option("--width", options.model.width);
  CLI11_PARSE(app, argc, argv);
  const double seconds = options.plain ? plain_seconds(options) : riesz_seconds(options);
  const auto tokens = static_cast<double>(options.batch * options.model.context);
  if (Runtime::rank() == 0) std::printf("tokens/s %.1f\n", tokens / seconds);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
