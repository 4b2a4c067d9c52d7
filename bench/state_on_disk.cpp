// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A training step of a GPT whose AdamW keeps its state on a disk, beside the same step with the state in
// memory, in turns. It prints both medians, the difference (the time that the disk exposes), and what the
// disk takes alone to read and write the same pages.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/nn/vectors/reduce.h"
#include "riesz/optim/adam.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
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
  std::int64_t batch = 8, micro_batches = 1;
  DiskOptions disk;
  bool threads = false;
  models::MinGptConfig model{
      .layers = 4, .heads = 4, .width = 512, .vocabulary = 4096, .context = 128, .dropout = 0};
};

/// A model in training.
class Trainee {
 public:
  Trainee(const Options& options, const Partition& mesh, std::shared_ptr<StatePlace> place)
      : options_(options), model_(spaces::one_d(mesh), options.model) {
    model_.initialise(1, at::kFloat);
    zero_.emplace(model_.parameters(), ZeroOptions{.stage = options.stage});
    zero_->store()->keep_state_in(std::move(place));
    optimizer_.emplace(zero_->store());
  }

  /// The seconds of a step, and of its update.
  std::pair<double, double> step() {
    const testing::TokenDraws draws{
        .rows = options_.batch, .length = options_.model.context, .vocabulary = options_.model.vocabulary};
    const Vector ids = testing::on(model_.tokens(), testing::drawn_ids(draws, 0));
    const Vector targets = testing::on(model_.targets(), testing::drawn_targets(draws, 0));
    wait_for_all(Partition::world());
    const auto begin = Clock::now();
    for (std::int64_t i = 0; i < options_.micro_batches; ++i) {
      zero_->begin(i, options_.micro_batches);
      Chain chain;
      backward(cross_entropy(model_(ids), targets).mean());
    }
    wait_for_all(Partition::world());
    const auto update = Clock::now();
    optimizer_->step();
    optimizer_->zero_gradients();
    wait_for_all(Partition::world());
    return {seconds_since(begin), seconds_since(update)};
  }
  const AdamW& optimizer() const { return *optimizer_; }

 private:
  Options options_;
  models::MinGpt model_;
  std::optional<Zero> zero_;
  std::optional<AdamW> optimizer_;
};

/// The seconds in which a disk reads and writes so many bytes, page after page.
double disk_alone(StatePlace& place, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(bytes / place.page_bytes(), 1));
  const auto pages = place.room("bench", std::vector<std::int64_t>(count, place.page_bytes()));
  std::vector<double> rounds;
  for (int round = 0; round < 4; ++round) {
    wait_for_all(Partition::world());
    const auto begin = Clock::now();
    for (std::size_t page = 0; page < count; ++page) {
      for (std::size_t ahead = 0; ahead <= place.depth(); ++ahead) pages->expect((page + ahead) % count);
      pages->bring(page);
      pages->let_go(page, true);
    }
    if (round > 0) rounds.push_back(seconds_since(begin));  // before the first nothing was written
  }
  return median(rounds);
}

int run(int argc, char** argv) {
  Options options;
  CLI::App app("a step with AdamW's state on a disk, beside one with it in memory");
  app.add_option("--folder", options.folder, "a folder on the disk");
  app.add_option("--steps", options.steps, "steps of each that count, after two that do not");
  app.add_option("--stage", options.stage, "of ZeRO");
  app.add_option("--batch", options.batch, "sequences of a micro-batch");
  app.add_option("--micro-batches", options.micro_batches, "of a step");
  app.add_option("--depth", options.disk.depth, "pages read ahead");
  app.add_option("--page", options.disk.page_bytes, "bytes of a page");
  app.add_option("--width", options.model.width);
  app.add_option("--layers", options.model.layers);
  app.add_flag("--threads", options.threads, "threads, where io_uring is there too");
  CLI11_PARSE(app, argc, argv);
  if (options.threads) options.disk.by = DiskBy::threads;
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  const std::shared_ptr<StatePlace> place = disk_place(options.folder, options.disk);
  Trainee in_memory(options, mesh, nullptr), on_disk(options, mesh, place);
  std::vector<double> memory_step, memory_update, disk_step, disk_update;
  for (int i = -2; i < options.steps; ++i) {
    const auto [m, mu] = in_memory.step();
    const auto [d, du] = on_disk.step();
    if (i < 0) continue;
    memory_step.push_back(m), memory_update.push_back(mu), disk_step.push_back(d), disk_update.push_back(du);
  }
  const double alone = disk_alone(*place, on_disk.optimizer().bytes_elsewhere());
  if (Runtime::rank() != 0) return 0;
  const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  const double m = median(memory_step), d = median(disk_step);
  std::printf("%s\n", place->describe().c_str());
  std::printf("state of a rank: %.1f MiB in memory; or %.1f MiB on the disk and %.1f MiB in memory\n",
              mib(in_memory.optimizer().bytes()), mib(on_disk.optimizer().bytes_elsewhere()),
              mib(on_disk.optimizer().bytes()));
  std::printf("step   in memory %.1f ms, on disk %.1f ms, exposed %.1f ms (%.1f %%)\n", 1e3 * m, 1e3 * d,
              1e3 * (d - m), 100 * (d - m) / m);
  std::printf(
      "update in memory %.1f ms, on disk %.1f ms; the disk alone reads and writes as much in %.1f ms\n",
      1e3 * median(memory_update), 1e3 * median(disk_update), 1e3 * alone);
  return 0;
}

}  // namespace
}  // namespace riesz

int main(int argc, char** argv) { return riesz::run_main(argc, argv, riesz::run); }
