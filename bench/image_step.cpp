// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training step of a U-Net or a ResNet in fp32: forward, backward, AdamW. The height of all images is
// sharded over the ranks. Two programs take turns, A B A B …, in one job: that step; and on each rank the
// same model alone, on as many pixels as a worker has, so that it needs nobody. Prints the ratio of their
// times (alone / sharded: 1 means that communication is free), median and spread, and that of the least
// times, which others on the machine disturb least. Then it traces some sharded
// steps and prints how much of their time the messages of batch norms take.
//   mpirun -n 2 --bind-to core image_step --model resnet
#include <ATen/Parallel.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/trace/trace.h"
#include "riesz/models/resnet.h"
#include "riesz/models/unet.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz {
namespace {

struct Options {
  std::string model = "unet";
  std::int64_t batch = 4, image = 256, width = 32, levels = 3;
  int rounds = 9, traced = 3;
};

using Step = std::function<void()>;

/// A step of the model on these workers, on images of random pixels.
template <typename Model, typename Config>
Step step_of(const Partition& mesh, const Config& config, std::int64_t batch,
             std::vector<std::int64_t> labelled) {
  const auto model = std::make_shared<Model>(spaces::one_d(mesh), config);
  model->initialise(1, at::kFloat);
  const auto optimizer = std::make_shared<AdamW>(whole(model->parameters()));
  const Space X = model->images().with_shape({batch, config.channels, config.image, config.image});
  labelled.insert(labelled.begin(), batch);
  const Vector images = distribute(X, at::randn(X.shape()));
  const Vector labels =
      distribute(model->targets().with_shape(labelled), at::randint(config.labels, labelled, at::kLong));
  return [=, number = std::int64_t{0}]() mutable {
    const ContextScope scope({.training = true, .seed = 1, .step = ++number});
    const Chain chain;
    backward(cross_entropy((*model)(images), labels).mean());
    optimizer->step();
    optimizer->zero_gradients();
  };
}

Step step_on(const Options& options, const Partition& mesh, std::int64_t batch) {
  if (options.model == "unet") {
    const models::UnetConfig config{.levels = options.levels, .width = options.width, .image = options.image};
    return step_of<models::Unet>(mesh, config, batch, {options.image, options.image});
  }
  const std::int64_t w = options.width;
  const models::ResnetConfig config{.depths = {2, 2, 2, 2},
                                    .widths = {w, 2 * w, 4 * w, 8 * w},
                                    .stem = w,
                                    .bottleneck = false,
                                    .image = options.image};
  return step_of<models::Resnet>(mesh, config, batch, {});
}

/// Seconds until the last rank is done.
double seconds(const Step& step, const Partition& mesh) {
  wait_for_all(mesh);
  const auto begin = std::chrono::steady_clock::now();
  step();
  wait_for_all(mesh);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Spread {
  double median, least, most;
};

Spread spread_of(std::vector<double> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return {numbers[numbers.size() / 2], numbers.front(), numbers.back()};
}

/// What the operations of batch norms sent and took, waiting included.
struct OfNorms {
  std::int64_t forward = 0, backward = 0, bytes = 0;
  double seconds = 0;
};

bool is_norm(const std::string& layer) {
  const std::string last = layer.substr(layer.rfind('.') + 1);
  return last == "normalization" || last == "norm";
}

OfNorms norms_in(const TraceLog& log) {
  RIESZ_CHECK(log.dropped == 0, "the trace dropped ", log.dropped, " events");
  OfNorms sum;
  TraceEvent layer;  // the last that began
  for (const TraceEvent& event : log.events) {
    if (event.kind == RangeKind::layer) layer = event;
    const bool inside = event.thread == layer.thread && event.end <= layer.end && is_norm(layer.name);
    if (event.kind != RangeKind::operation || !inside || event.sent.messages == 0) continue;
    ++(layer.detail == "backward" ? sum.backward : sum.forward);
    sum.bytes += event.sent.bytes;
    sum.seconds += 1e-9 * static_cast<double>(event.end - event.begin);
  }
  return sum;
}

void print_norms(const Options& options, const Step& step, const Partition& mesh) {
  Trace::start();
  double all = 0;
  for (int i = 0; i < options.traced; ++i) all += seconds(step, mesh);
  const OfNorms norms = norms_in(Trace::stop());
  if (mesh.rank() != 0) return;
  std::printf(
      "batch norms: %ld operations forward and %ld backward a step, %ld bytes; %.2f ms of %.1f, %.2f %%\n",
      norms.forward / options.traced, norms.backward / options.traced, norms.bytes / options.traced,
      1e3 * norms.seconds / options.traced, 1e3 * all / options.traced, 100 * norms.seconds / all);
}

void measure(const Options& options) {
  const Partition mesh = Partition::world().grid({{"height", Runtime::size()}});
  const Partition here = Partition::world().subset({Runtime::rank()}).grid({{"height", 1}});
  RIESZ_CHECK(options.batch % Runtime::size() == 0, "--batch ", options.batch, " is no multiple of ",
              Runtime::size(), " ranks, each of which has as many images alone");
  const Step sharded = step_on(options, mesh, options.batch);
  const Step alone = step_on(options, here, options.batch / Runtime::size());
  std::vector<double> ratios, of_sharded, of_alone;
  for (int i = -2; i < options.rounds; ++i) {
    const double a = seconds(sharded, mesh), b = seconds(alone, mesh);
    if (i >= 0) ratios.push_back(b / a), of_sharded.push_back(a), of_alone.push_back(b);
  }
  const Spread ratio = spread_of(ratios), a = spread_of(of_sharded), b = spread_of(of_alone);
  if (mesh.rank() == 0)
    std::printf(
        "%s: alone / sharded %.3f (%.3f to %.3f), of the least times %.3f, %d pairs; sharded %.1f ms\n",
        options.model.c_str(), ratio.median, ratio.least, ratio.most, b.least / a.least, options.rounds,
        1e3 * a.median);
  if (options.traced > 0) print_norms(options, sharded, mesh);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("A training step of a model of images, its height sharded over the ranks");
  app.add_option("--model", options.model)->check(CLI::IsMember({"unet", "resnet"}));
  app.add_option("--batch", options.batch, "images, over all workers");
  app.add_option("--image", options.image, "rows and columns");
  app.add_option("--width", options.width, "channels of the first level or stage");
  app.add_option("--levels", options.levels, "of the U-Net");
  app.add_option("--rounds", options.rounds, "after two that do not count");
  app.add_option("--traced", options.traced, "steps");
  CLI11_PARSE(app, argc, argv);
  at::set_num_threads(1);
  measure(options);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
