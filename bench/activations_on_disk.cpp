// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Forward and backward of a GPT whose blocks save on a disk, beside the same in memory, beside blocks that
// run again, and beside such blocks whose inputs lie on the disk, in turns. It prints each one's median time
// and its most memory, what moves, and what the disk takes alone to write and read as much.
#include "riesz/io/disk/activations_on_disk.h"

#include <ATen/ops/empty.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/offload/activation_offload.h"
#include "riesz/nn/recompute/policy.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/tokens.h"
#include "riesz/zero/zero.h"

namespace riesz {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> x) {
  std::nth_element(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / 2), x.end());
  return x[x.size() / 2];
}

struct Options {
  std::string folder = "/tmp";
  int steps = 7, stage = 1;
  std::size_t depth = 2;
  std::int64_t batch = 8;
  bool threads = false;
  models::MinGptConfig model{
      .layers = 8, .heads = 4, .width = 512, .vocabulary = 4096, .context = 128, .dropout = 0};
};

/// A model, and where its blocks save.
class Way {
 public:
  Way(const Options& options, const Partition& mesh, const char* name, bool again, bool on_disk)
      : name_(name), options_(options), model_(spaces::one_d(mesh), options.model) {
    model_.initialise(1, at::kFloat);
    if (again) set_recompute(model_, {.regions = RecomputePolicy::Regions::blocks});
    zero_.emplace(model_.parameters(), ZeroOptions{.stage = options.stage});
    optimizer_.emplace(zero_->store());
    if (on_disk)
      offload_.emplace(model_,
                       activations_on_disk(options.folder, options.threads ? DiskBy::threads : DiskBy::any),
                       options.depth);
  }

  /// Counted without its update.
  void step(bool counts) {
    const testing::TokenDraws draws{
        .rows = options_.batch, .length = options_.model.context, .vocabulary = options_.model.vocabulary};
    const Vector ids = testing::on(model_.tokens(), testing::drawn_ids(draws, 0));
    const Vector targets = testing::on(model_.targets(), testing::drawn_targets(draws, 0));
    wait_for_all(Partition::world());
    const MovedBytes before = moved();
    const testing::MemoryMeter meter;
    const auto begin = Clock::now();
    {
      zero_->begin(0, 1);
      std::optional<OffloadScope> scope;
      if (offload_) scope.emplace(*offload_);
      Chain chain;
      backward(cross_entropy(model_(ids), targets).mean());
    }
    wait_for_all(Partition::world());
    if (counts) seconds_.push_back(seconds_since(begin));
    most_ = testing::MemoryMeter::peak();
    of_step_ = {moved().written - before.written, moved().read - before.read};
    optimizer_->step();
    optimizer_->zero_gradients();
  }

  void print() const {
    const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf("%-26s %8.1f ms, %8.1f MiB at most; writes %.1f MiB, reads %.1f MiB\n", name_.c_str(),
                1e3 * median(seconds_), mib(most_), mib(of_step_.written), mib(of_step_.read));
  }
  /// The seconds in which the disk alone writes and reads what a step does, in pieces of a MiB.
  double disk_alone() const {
    const at::Tensor piece = at::empty({1 << 20}, at::kByte);
    std::vector<double> rounds;
    for (int round = 0; round < 3; ++round) {
      const auto begin = Clock::now();
      std::vector<std::unique_ptr<PlacedMemory>> all;
      for (std::int64_t at = 0; at < of_step_.written; at += 1 << 20)
        all.push_back(offload_->place().put(piece.storage()));
      for (const auto& each : all) each->let_go();
      const auto read = static_cast<std::size_t>(of_step_.read >> 20);
      for (std::size_t i = 0; i < read; ++i) all[i]->expect();
      for (std::size_t i = 0; i < read; ++i) all[i]->bring();
      rounds.push_back(seconds_since(begin));
    }
    return median(rounds);
  }
  std::string describe() const { return offload_->place().describe(); }

 private:
  MovedBytes moved() const { return offload_ ? offload_->place().moved() : MovedBytes{}; }

  std::string name_;
  Options options_;
  models::MinGpt model_;
  std::optional<Zero> zero_;
  std::optional<AdamW> optimizer_;
  std::optional<ActivationOffload> offload_;
  std::vector<double> seconds_;
  std::int64_t most_ = 0;
  MovedBytes of_step_;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("a step whose blocks save on a disk, beside one in memory and one that runs them again");
  app.add_option("--folder", options.folder, "a folder on the disk");
  app.add_option("--steps", options.steps, "steps of each that count, after two that do not");
  app.add_option("--stage", options.stage, "of ZeRO");
  app.add_option("--batch", options.batch, "sequences");
  app.add_option("--depth", options.depth, "blocks read ahead");
  app.add_option("--width", options.model.width);
  app.add_option("--layers", options.model.layers);
  app.add_option("--context", options.model.context);
  app.add_flag("--threads", options.threads, "threads, where io_uring is there too");
  CLI11_PARSE(app, argc, argv);
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}, {"tp", 1}});
  Way in_memory(options, mesh, "in memory", false, false), on_disk(options, mesh, "on the disk", false, true),
      again(options, mesh, "again", true, false),
      both(options, mesh, "again, inputs on the disk", true, true);
  const std::array<Way*, 4> ways{&in_memory, &on_disk, &again, &both};
  for (int i = -2; i < options.steps; ++i)
    for (Way* way : ways) way->step(i >= 0);
  const double alone = on_disk.disk_alone();
  if (Runtime::rank() != 0) return 0;
  std::printf("%s\n", on_disk.describe().c_str());
  for (const Way* way : ways) way->print();
  std::printf("the disk alone writes and reads what blocks save in %.1f ms\n", 1e3 * alone);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
