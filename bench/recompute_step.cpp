// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What it costs to run all blocks of a GPT again in backward: forward and backward with and without, in turn,
// beside the time without plus what the blocks take forward there. Nothing in it is the optimizer's.
//   mpirun -n 2 recompute_step --tp 2
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/layer_scope.h"
#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  int tp = 1;
  int rounds = 11;
  std::int64_t batch = 8;
  models::MinGptConfig model{
      .layers = 4, .heads = 8, .width = 256, .vocabulary = 4096, .context = 128, .dropout = 0};
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Seconds between the beginnings and ends of blocks, forward.
class BlockTime final : public LayerObserver {
 public:
  void entered(const std::shared_ptr<const Origin>& origin) override {
    const std::string blocks = "transformer.h.";
    const bool block = origin != nullptr && origin->phase == Phase::forward &&
                       origin->layer.starts_with(blocks) &&
                       origin->layer.find('.', blocks.size()) == std::string::npos;
    inside_.push_back(block);
    if (block) since_ = Clock::now();
  }
  void left() noexcept override {
    if (inside_.back()) seconds_ += seconds_since(since_);
    inside_.pop_back();
  }
  double seconds() const { return seconds_; }

 private:
  std::vector<bool> inside_;
  Clock::time_point since_;
  double seconds_ = 0;
};

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

class Run {
 public:
  explicit Run(const Options& options)
      : model_(spaces::one_d(Partition::world().grid({{"dp", 1}, {"tp", options.tp}})), options.model),
        ids_(on(model_.tokens(), options)),
        targets_(on(model_.targets(), options)) {
    model_.initialise(1, at::kFloat);
  }

  /// Of forward and backward, of the slowest worker.
  double seconds(RecomputePolicy::Regions regions) {
    set_recompute(model_, {.regions = regions});
    largest(0);  // all begin at one time
    const auto begin = Clock::now();
    {
      const Chain chain;
      backward(cross_entropy(model_(ids_), targets_).mean());
    }
    const double taken = seconds_since(begin);
    for (Parameter parameter : model_.parameters()) parameter.zero_gradient();
    return largest(taken);
  }

 private:
  static Vector on(const Space& X, const Options& options) {
    const at::Tensor numbers =
        at::randint(options.model.vocabulary, {options.batch, options.model.context}, at::kLong);
    return distribute(X.with_shape(numbers.sizes().vec()), numbers);
  }

  models::MinGpt model_;
  Vector ids_, targets_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("All blocks of a GPT run again in backward");
  app.add_option("--tp", options.tp);
  app.add_option("--rounds", options.rounds, "that count, after one that does not");
  app.add_option("--batch", options.batch);
  app.add_option("--layers", options.model.layers);
  app.add_option("--heads", options.model.heads);
  app.add_option("--width", options.model.width);
  app.add_option("--vocabulary", options.model.vocabulary);
  app.add_option("--context", options.model.context);
  CLI11_PARSE(app, argc, argv);
  at::manual_seed(1);  // the same tokens on all workers
  using Regions = RecomputePolicy::Regions;
  Run it(options);
  std::vector<double> plain, blocks, again, ratios;
  for (int round = -1; round < options.rounds; ++round) {
    const bool first = round % 2 == 0;
    double with = first ? it.seconds(Regions::blocks) : 0;
    std::optional<BlockTime> watch(std::in_place);
    const double without = it.seconds(Regions::none);
    const double of_blocks = largest(watch->seconds());
    watch.reset();
    if (!first) with = it.seconds(Regions::blocks);
    if (round < 0) continue;
    plain.push_back(without);
    blocks.push_back(of_blocks);
    again.push_back(with);
    ratios.push_back(with / (without + of_blocks));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto least = [](const std::vector<double>& each) {
    return *std::min_element(each.begin(), each.end());
  };
  if (Runtime::rank() == 0)
    std::printf(
        "without %.2f ms, of which blocks forward %.2f; run again %.2f ms: %.3f (%.3f to %.3f) of their sum, "
        "of the "
        "least times %.3f\n",
        1e3 * median(plain), 1e3 * median(blocks), 1e3 * median(again), median(ratios), ratios.front(),
        ratios.back(), least(again) / (least(plain) + least(blocks)));
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
