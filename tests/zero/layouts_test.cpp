// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Layers do not know where state lives: every stage with every layout of the layers, dropout included, and in
// pairs with optimizers and accumulation.
#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "riesz/comm/runtime.h"
#include "training.h"

namespace riesz::testing {
namespace {

using MakeLayout = riesz::Layout (*)(const Partition&, Sequence);

struct LayoutCase {
  std::string name;
  MakeLayout make;
  Sequence sequence;
  std::vector<Axis> axes;
};

/// Those of as many workers as the job has.
std::vector<LayoutCase> layouts() {
  using namespace spaces;
  const std::vector<LayoutCase> all{
      {"SP", sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", 2}}},
      {"SP", sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", 4}}},
      {"2D", two_d, Sequence::whole, {{"dp", 2}, {"row", 2}, {"column", 2}}},
      {"2.5D", two_and_half_d, Sequence::whole, {{"dp", 1}, {"depth", 2}, {"row", 2}, {"column", 2}}},
      {"3D", three_d, Sequence::whole, {{"dp", 2}, {"a", 2}, {"b", 1}, {"c", 2}}},
      {"ring", one_d, Sequence::ring, {{"dp", 1}, {"sp", 2}}},
      {"ring", one_d, Sequence::ring, {{"dp", 2}, {"sp", 2}}},
      {"ring", one_d, Sequence::ring, {{"dp", 2}, {"sp", 3}}},
      {"ring and SP", sequence_parallel, Sequence::ring, {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
      {"ulysses", one_d, Sequence::ulysses, {{"dp", 1}, {"sp", 3}}},
      {"ulysses", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 3}}},
      {"ulysses and 1D", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
  };
  std::vector<LayoutCase> fitting;
  for (const LayoutCase& layout : all) {
    int workers = 1;
    for (const Axis& axis : layout.axes) workers *= axis.extent;
    if (workers == Runtime::size()) fitting.push_back(layout);
  }
  return fitting;
}

/// Every stage with every layout, each with all four optimizers, and with 1 or 3 micro-batches; what has 1
/// while weights are not tied has 3 while they are, so every pair occurs. With `tied`, the token table is the
/// output layer's weight too. Where there are several layouts, one has two of the stages tied and the others
/// not, and the next one the other way round.
void expect_the_model_of_one_worker(bool tied) {
  Course course;
  course.config.dropout = 0.1;
  course.config.tied = tied;
  std::map<std::string, TrainingRun> references;  // by optimizer
  std::size_t number = 0;                         // of the layout
  const std::size_t all = layouts().size();
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    for (const int stage : {0, 1, 2, 3}) {
      const bool outer = stage == 0 || stage == 3;
      if (all > 1 && (outer == (number % 2 == 0)) != tied) continue;
      const auto& [name, optimizer] = some_optimizers()[(number + static_cast<std::size_t>(stage)) % 4];
      course.optimizer = optimizer;
      course.micro_batches = (stage / 2 % 2 == 0) == tied ? 3 : 1;
      course.zero.reset();
      TrainingRun& reference = references[name];
      if (reference.results.empty()) reference = train(course, spaces::one_d(one_worker()));
      course.zero = ZeroOptions{.stage = stage, .bucket = 4000, .keep = 50};
      const TrainingRun run = train(course, layout.make(mesh, layout.sequence));
      EXPECT_TRUE(compare_runs(run, reference))
          << layout.name << ", stage " << stage << ", " << name << ", " << course.micro_batches
          << " micro-batches, on " << to_string(mesh);
    }
    ++number;
  }
}

/// Masks are those of the global batch, however it is cut: losses, gradients and weights are the same.
TEST(ZeroLayouts, DropTheSameAtEveryNumberOfMicroBatches) {
  Course course;
  course.config.dropout = 0.3;
  course.batch = 7;
  course.optimizer = some_optimizers().front().second;
  const TrainingRun reference = train(course, spaces::one_d(one_worker()));
  const std::vector<LayoutCase> all = layouts();
  std::size_t number = 0;  // of several layouts each has one of the numbers
  for (const LayoutCase& layout : all) {
    ++number;
    for (const std::int64_t parts : {1, 2, 3, 5}) {
      if (all.size() > 1 && number % 4 != static_cast<std::size_t>(parts / 2 + parts / 3)) continue;
      course.micro_batches = parts;
      const Partition mesh = Partition::world().grid(layout.axes);
      EXPECT_TRUE(compare_runs(train(course, layout.make(mesh, layout.sequence)), reference))
          << parts << " micro-batches, " << layout.name << " on " << to_string(mesh);
    }
  }
}

TEST(ZeroLayouts, TrainTheModelOfOneWorker) { expect_the_model_of_one_worker(false); }

TEST(ZeroLayouts, TrainTiedWeights) { expect_the_model_of_one_worker(true); }

}  // namespace
}  // namespace riesz::testing
