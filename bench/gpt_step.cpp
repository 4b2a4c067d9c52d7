// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// One training step of a GPT in fp32: Riesz's minGPT at a layout, or the plain LibTorch implementation that
// the tests compare it with, on one worker. Prints "tokens/s N" of the median step, of the slowest worker.
// bench/paired.py pairs two of them, or one with a peer of bench/peers/. With --alone each process computes
// its worker's part as if all messages arrived at once: what the machine does without communication. --zero
// shards state over dp. Prints "rss MiB N" too: the most memory that a worker had, less what it had after a
// step of a tiny model and had not freed; and that with what workers share counted once, not in each.
#include <ATen/Context.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "plain_min_gpt.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/simulation.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/partition/pairing.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/train/config/layout.h"
#include "riesz/zero/zero.h"

/// jemalloc's, where it is there.
extern "C" __attribute__((weak)) int mallctl(const char*, void*, std::size_t*, void*, std::size_t);

namespace riesz {
namespace {

struct Options {
  bool plain = false;
  bool alone = false;
  Config::Layout layout;
  int steps = 20;
  bool losses = false;
  bool clip = false;
  bool onednn = true;
  int zero = -1;  // each parameter's gradient by an operator of its own
  std::string save;
  std::int64_t batch = 8;
  models::MinGptConfig model{
      .layers = 4, .heads = 4, .width = 128, .vocabulary = 256, .context = 128, .dropout = 0};
};

/// A line of /proc/self/status: "VmRSS:", the memory of this process, or "VmHWM:", the most that it has had.
double status_mib(const std::string& line) {
  std::ifstream status("/proc/self/status");
  double kib = 0;
  for (std::string word; status >> word;) {
    if (word == line) status >> kib;
  }
  return kib / 1024;
}

/// From now on the most is of what comes; freed pages are given back before. What there is.
double begin_memory() {
  if (mallctl != nullptr) mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);  // of all arenas
  std::ofstream("/proc/self/clear_refs") << "5";
  return status_mib("VmRSS:");
}

/// Of the memory that workers share: what all count less what there is, a worker's part of it.
double counted_twice_mib() {
  collect("memory", Partition::world(), at::scalar_tensor(0));  // all have theirs mapped
  std::ifstream maps("/proc/self/smaps");
  double kib = 0, sum = 0;
  bool shared = false;
  for (std::string line, word; std::getline(maps, line);) {
    std::istringstream words(line);
    words >> word;
    if (word.back() != ':') shared = line.find("/memfd:riesz") != std::string::npos;  // the head of a mapping
    if (!shared || !(words >> kib)) continue;
    if (word == "Rss:") sum += kib;
    if (word == "Pss:") sum -= kib;
  }
  return sum / 1024;
}

double largest(double number) {
  double most = number;
  for (const at::Tensor& each : collect("memory", Partition::world(), at::scalar_tensor(number, at::kDouble)))
    most = std::max(most, each.item<double>());
  return most;
}

/// `step` returns its loss.
double median_seconds(const Options& options, const std::function<double()>& step) {
  if (options.steps == 0) return 0;
  std::vector<double> seconds;
  for (int i = 0; i < options.steps + 3; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const double loss = step();
    if (i >= 3)
      seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    if (options.losses && Runtime::rank() == 0) std::printf("loss %.7f\n", loss);
  }
  const auto middle = seconds.begin() + options.steps / 2;
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

at::Tensor tokens_of(const Options& options) {
  return at::randint(options.model.vocabulary, {options.batch, options.model.context}, at::kLong);
}

/// What a peer needs to begin where this run does, as torch.load reads it.
void save(const Options& options, const plain::Weights& weights, const at::Tensor& ids,
          const at::Tensor& targets) {
  c10::Dict<std::string, at::Tensor> all;
  for (const auto& [name, weight] : weights) all.insert(name, weight.detach());
  all.insert("ids", ids);
  all.insert("targets", targets);
  const std::vector<char> bytes = torch::jit::pickle_save(c10::IValue(all));
  std::ofstream(options.save, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct Measured {
  double seconds = 0;
  double counted_twice_mib = 0;
};

Measured riesz_step(const Options& options) {
  std::optional<Simulation> alone;
  if (options.alone) alone.emplace(Runtime::rank(), Runtime::size());
  const Partition mesh = Partition::world().grid(layout_axes(options.layout));
  models::MinGpt model(spaces::named(options.layout.tensor, options.layout.sequence, mesh), options.model);
  model.initialise(1, at::kFloat);
  set_recompute(model, {.regions = recompute_regions(options.layout.recompute),
                        .every = options.layout.recompute_every});
  std::optional<Zero> zero;
  if (options.zero >= 0) zero.emplace(model.parameters(), ZeroOptions{.stage = options.zero});
  const auto store = zero ? zero->store() : whole(model.parameters());
  AdamW optimizer(store);
  const Space tokens = model.tokens().with_shape({options.batch, options.model.context});
  const Vector ids = distribute(tokens, tokens_of(options));
  const Vector targets =
      distribute(model.targets().with_shape({options.batch, options.model.context}), tokens_of(options));
  std::int64_t number = 0;
  const double seconds = median_seconds(options, [&] {
    const ContextScope scope({.training = true, .seed = 1, .step = ++number});
    Chain chain;
    const Loss loss = cross_entropy(model(ids), targets);
    const Vector mean = loss.mean();
    backward(mean);
    if (options.clip) clip_gradients(*store, 1);
    optimizer.step();
    optimizer.zero_gradients();
    return mean.local().item<double>();
  });
  const double twice = counted_twice_mib();
  collect("memory", mesh, at::scalar_tensor(0));  // none gives its memory back while another looks
  return {seconds, twice};
}

/// Steps of a tiny model: what is loaded and kept from then on is no model's.
void warm_up(Options options) {
  options.model = {.layers = 1,
                   .heads = 2 * options.layout.tp,
                   .width = 16 * options.layout.tp,
                   .vocabulary = 16,
                   .context = 8,
                   .dropout = 0};
  options.batch = Runtime::size();
  options.steps = 1;
  options.losses = false;
  riesz_step(options);
}

/// The plain model from the same weights, with the same fused AdamW, so that only the model differs.
Measured plain_step(const Options& options) {
  const Partition alone = Partition::world().grid({{"dp", 1}, {"tp", 1}});
  models::MinGpt model(spaces::one_d(alone), options.model);
  model.initialise(1, at::kFloat);
  std::vector<Parameter> parameters;
  plain::Weights weights;
  for (const Parameter& published : model.parameters()) {
    parameters.emplace_back(published.name(), Space(alone, published.shape()),
                            ParameterOptions{Initial::zeros(), published.decays()});
    parameters.back().initialise(1, at::kFloat);
    at::Tensor& weight = weights[published.name()] = parameters.back().value().local();
    weight.detach().copy_(published.value().local().detach().view(published.shape()));
  }
  AdamW optimizer(parameters);
  const at::Tensor ids = tokens_of(options);
  const at::Tensor targets = tokens_of(options);
  if (!options.save.empty()) save(options, weights, ids, targets);
  const double seconds = median_seconds(options, [&] {
    const at::Tensor loss = plain::cross_entropy(plain::min_gpt(options.model, weights, ids), targets);
    loss.backward();
    optimizer.step();
    optimizer.zero_gradients();
    return loss.item<double>();
  });
  return {seconds};
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("One training step of a GPT, in tokens per second");
  app.add_flag("--plain", options.plain, "plain LibTorch on one worker");
  app.add_flag("--alone", options.alone, "no communication: what each worker computes, side by side");
  app.add_option("--dp", options.layout.dp);
  app.add_option("--tp", options.layout.tp);
  app.add_option("--sp", options.layout.sp);
  app.add_option("--tensor", options.layout.tensor, "1d, sp, 2d, 2.5d or 3d");
  app.add_option("--sequence", options.layout.sequence, "none, ring or ulysses");
  app.add_option("--zero", options.zero, "0: data parallel in buckets; 1, 2, 3: ZeRO's stages");
  app.add_option("--recompute", options.layout.recompute, "none, blocks or attention, again in backward");
  app.add_option("--every", options.layout.recompute_every, "which blocks");
  app.add_option("--steps", options.steps,
                 "steps that count, after three that do not; 0: the model and its store are only made");
  app.add_option("--batch", options.batch, "sequences, over all workers");
  app.add_flag("--clip", options.clip, "clip the gradients at norm 1, as training does");
  app.add_flag("!--mm", options.onednn,
               "products by at::mm alone, as torch has them, not by oneDNN where it is faster");
  app.add_option("--layers", options.model.layers);
  app.add_option("--heads", options.model.heads);
  app.add_option("--width", options.model.width);
  app.add_option("--vocabulary", options.model.vocabulary);
  app.add_option("--context", options.model.context);
  app.add_option("--dropout", options.model.dropout,
                 "probability, everywhere where minGPT drops; not with --plain");
  app.add_option("--attention-dropout", options.model.attention_dropout,
                 "that of attention, unless the same");
  app.add_flag("--losses", options.losses, "print the loss of every step");
  app.add_option("--save", options.save, "with --plain: the file for the weights and tokens it begins with");
  CLI11_PARSE(app, argc, argv);
  at::globalContext().setUserEnabledMkldnn(options.onednn);
  warm_up(options);
  at::manual_seed(1);  // the same tokens on all workers
  const double at_start = begin_memory();
  const double twice_at_start = counted_twice_mib();
  const Measured step = options.plain ? plain_step(options) : riesz_step(options);
  const auto tokens = static_cast<double>(options.batch * options.model.context);
  const double rss = status_mib("VmHWM:") - at_start;
  const double most = largest(rss);
  const double once = largest(rss - (step.counted_twice_mib - twice_at_start));
  const double seconds = largest(step.seconds);
  if (Runtime::rank() == 0) {
    if (seconds > 0) std::printf("tokens/s %.1f\n", tokens / seconds);
    std::printf("rss MiB %.1f, shared memory counted once %.1f\n", most, once);
  }
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
