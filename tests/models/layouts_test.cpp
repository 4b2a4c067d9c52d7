// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// minGPT is the same model at every layout: over five steps of training, with dropout, in sizes that nothing
// divides.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/partition/space_dims.h"
#include "riesz/testing/error.h"
#include "training.h"

namespace riesz::testing {
namespace {

constexpr int kSteps = 5;

const Problem kOdd{
    {.layers = 2, .heads = 3, .width = 15, .hidden = 44, .vocabulary = 97, .context = 13, .dropout = 0.1},
    5,
    13};

Partition alone() { return Partition::world().subset({Runtime::rank()}).grid({{"dp", 1}, {"tp", 1}}); }

const TrainingRun& reference() {
  static const TrainingRun run = train(kOdd, alone(), kSteps);
  return run;
}

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
      {"1D", one_d, Sequence::whole, {{"tp", 2}}},
      {"1D", one_d, Sequence::whole, {{"tp", 3}}},
      {"1D", one_d, Sequence::whole, {{"tp", 4}}},
      {"dp x 1D", one_d, Sequence::whole, {{"dp", 2}, {"tp", 2}}},
      {"dp x 1D", one_d, Sequence::whole, {{"dp", 3}, {"tp", 2}}},
      {"dp x 1D", one_d, Sequence::whole, {{"dp", 2}, {"tp", 4}}},
      {"SP", sequence_parallel, Sequence::whole, {{"tp", 2}}},
      {"SP", sequence_parallel, Sequence::whole, {{"tp", 3}}},
      {"SP", sequence_parallel, Sequence::whole, {{"tp", 4}}},
      {"dp x SP", sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", 2}}},
      {"dp x SP", sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", 3}}},
      {"dp x SP", sequence_parallel, Sequence::whole, {{"dp", 4}, {"tp", 2}}},
      {"dp x SP", sequence_parallel, Sequence::whole, {{"dp", 2}, {"tp", 4}}},
      {"2D", two_d, Sequence::whole, {{"row", 2}, {"column", 2}}},
      {"2D", two_d, Sequence::whole, {{"row", 2}, {"column", 3}}},
      {"dp x 2D", two_d, Sequence::whole, {{"dp", 2}, {"row", 2}, {"column", 2}}},
      {"2.5D", two_and_half_d, Sequence::whole, {{"depth", 2}, {"row", 2}, {"column", 2}}},
      {"3D", three_d, Sequence::whole, {{"a", 2}, {"b", 2}, {"c", 2}}},
      {"3D, one layer", three_d, Sequence::whole, {{"a", 1}, {"b", 2}, {"c", 2}}},
      {"dp x 3D", three_d, Sequence::whole, {{"dp", 2}, {"a", 2}, {"b", 1}, {"c", 2}}},
      {"ring", one_d, Sequence::ring, {{"sp", 2}}},
      {"ring", one_d, Sequence::ring, {{"sp", 3}}},
      {"ring", one_d, Sequence::ring, {{"sp", 4}}},
      {"dp x ring", one_d, Sequence::ring, {{"dp", 2}, {"sp", 2}}},
      {"dp x ring", one_d, Sequence::ring, {{"dp", 3}, {"sp", 2}}},
      {"dp x ring", one_d, Sequence::ring, {{"dp", 2}, {"sp", 3}}},
      {"dp x ring", one_d, Sequence::ring, {{"dp", 2}, {"sp", 4}}},
      {"dp x ring x SP", sequence_parallel, Sequence::ring, {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
      {"ring x 2D", two_d, Sequence::ring, {{"sp", 2}, {"row", 2}, {"column", 2}}},
      {"ulysses", one_d, Sequence::ulysses, {{"sp", 2}}},
      {"ulysses", one_d, Sequence::ulysses, {{"sp", 3}}},
      {"ulysses", one_d, Sequence::ulysses, {{"sp", 4}}},
      {"dp x ulysses", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 2}}},
      {"dp x ulysses", one_d, Sequence::ulysses, {{"dp", 3}, {"sp", 2}}},
      {"dp x ulysses", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 3}}},
      {"dp x ulysses", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 4}}},
      {"ulysses x 2D", two_d, Sequence::ulysses, {{"sp", 2}, {"row", 2}, {"column", 2}}},
      {"dp x ulysses x 1D", one_d, Sequence::ulysses, {{"dp", 2}, {"sp", 2}, {"tp", 2}}},
  };
  std::vector<LayoutCase> fitting;
  for (const LayoutCase& layout : all) {
    int workers = 1;
    for (const Axis& axis : layout.axes) workers *= axis.extent;
    if (workers == Runtime::size()) fitting.push_back(layout);
  }
  return fitting;
}

TEST(MinGptLayouts, TrainTheModelOfOneWorker) {
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const TrainingRun run = train(kOdd, layout.make(mesh, layout.sequence), kSteps);
    EXPECT_TRUE(compare_runs(run, reference())) << layout.name << " on " << to_string(mesh);
  }
}

/// The token table is the output layer's weight too: one parameter, two uses, whose gradients add up.
TEST(MinGptLayouts, TrainTiedWeights) {
  Problem tied = kOdd;
  tied.config.tied = true;
  const TrainingRun one_worker = train(tied, alone(), 2);
  EXPECT_FALSE(one_worker.initial.contains("lm_head.weight"));
  for (const LayoutCase& layout : layouts()) {
    const Partition mesh = Partition::world().grid(layout.axes);
    const TrainingRun run = train(tied, layout.make(mesh, layout.sequence), 2);
    EXPECT_TRUE(compare_runs(run, one_worker)) << layout.name << " on " << to_string(mesh);
  }
}

/// Panels, and what is kept, change no run. On 8 workers those of 2D are in panels, 2.5D is both,
/// and the others keep, as they are on fewer.
TEST(MinGptLayouts, TrainTheSameInPanelsAndKeepingWhatWasGathered) {
  const TrainingRun one_worker = train(kOdd, alone(), 2);
  for (const ContractionOptions options :
       {ContractionOptions{.rounds = 3}, ContractionOptions{.keep_x = true, .keep_w = true}}) {
    Problem problem = kOdd;
    problem.config.contraction = options;
    for (const LayoutCase& layout : layouts()) {
      const bool panels = options.rounds > 1;
      const bool two_d = layout.name.ends_with("2D"), both = layout.name == "2.5D";
      const bool nested = layout.axes.size() > 2 && panels;  // an index of two axes comes whole
      if (nested && !two_d && !both) continue;
      if (Runtime::size() == 8 && panels != two_d && !both) continue;
      const Partition mesh = Partition::world().grid(layout.axes);
      const TrainingRun run = train(problem, layout.make(mesh, layout.sequence), 2);
      EXPECT_TRUE(compare_runs(run, one_worker)) << layout.name << " on " << to_string(mesh);
    }
  }
}

/// Each axis shards one of some dims, or none, by the draws of a seed.
class Anywhere {
 public:
  explicit Anywhere(unsigned seed) : draws_(seed) {}

  int below(int n) { return static_cast<int>(draws_() % static_cast<unsigned>(n)); }

  Space operator()(Space X, const std::vector<int>& dims) {
    for (const Axis& axis : X.partition().axes()) {
      const int choice = below(static_cast<int>(dims.size()) + 1);
      if (choice < static_cast<int>(dims.size()))
        X = X.sharded(dims[static_cast<std::size_t>(choice)], axis.name);
    }
    return X;
  }

 private:
  std::mt19937 draws_;
};

/// Every operand of every layer anywhere; but at most one axis shards the sequence where attention is
/// computed, and the targets lie as the logits.
ModelSpaces anywhere(const Partition& mesh, const models::MinGptConfig& config, unsigned seed) {
  using enum ModelSpaces::Place;
  ModelSpaces s(spaces::one_d(mesh.grid({{"dp", mesh.size()}, {"tp", 1}})), config.roles());
  Anywhere choose(seed);
  const auto some = [&](const Space& X, const std::vector<int>& dims) {
    return choose(Space(mesh, X.shape()), dims);
  };
  const auto place = [&](ModelSpaces::Place where, const std::string& letters, const std::vector<int>& dims) {
    s = s.with(where, letters, some(s.stream(letters), dims));
  };
  const auto weight = [&](const std::string& spec, const std::vector<int>& dims) {
    s = s.with_weight(spec, some(s.weight(spec), dims));
  };
  place(stream, "bt", {0, 1});
  place(inside, "btv", {0, 1, 2});
  s = s.with(inside, "bt", select_dims(s.inside("btv"), {0, 1}));
  place(stream, "btc", {0, 1, 2});
  place(inside, "qbthd", {0, 1, 2, 3, 4});
  do {
    place(attending, "bthd", {0, 1, 2});
  } while (s.attending("bthd").shards(1).size() > 1);
  place(inside, "bthd", {0, 1, 2, 3});
  place(inside, "btf", {0, 1, 2});
  weight("btv,vc->btc", {0, 1});
  weight("tp,pc->tc", {0, 1});
  weight("btc,cqhd->qbthd", {0, 1, 2, 3});
  weight("bthd,hdc->btc", {0, 1, 2});
  weight("btc,cf->btf", {0, 1});
  weight("btf,fc->btc", {0, 1});
  weight("btc,vc->btv", {0, 1});
  for (const auto& [letters, dims] :  // positions lie as the sequence, and the width, of the stream
       {std::pair<std::string, std::vector<int>>{"t", {1}}, {"tc", {1, 2}}}) {
    Space X = select_dims(s.stream("btc"), dims);
    for (const std::string& axis : sharding_axes(s.stream("btc"), 0)) X = X.copied(axis);
    s = s.with(stream, letters, X);
  }
  return s;
}

/// The job's workers on a grid of one or two axes.
Partition some_grid(Anywhere& any) {
  const int p = Runtime::size();
  int a = 1 + any.below(p);
  while (p % a != 0) --a;
  return Partition::world().grid({{"a", a}, {"b", p / a}});
}

/// Each number of workers has draws of its own: 16, or as many as RIESZ_DRAWS says.
TEST(MinGptLayouts, EveryOperandMayLieAnywhere) {
  const auto size = static_cast<unsigned>(Runtime::size());
  Anywhere any(size);
  const char* draws = std::getenv("RIESZ_DRAWS");
  const TrainingRun one_worker = train(kOdd, alone(), 2);
  for (unsigned draw = 0; draw < (draws == nullptr ? 16U : std::stoul(draws)); ++draw) {
    const unsigned seed = 1000 * size + draw;
    const Partition mesh = some_grid(any);
    const TrainingRun run = train(kOdd, anywhere(mesh, kOdd.config, seed), 2);
    ASSERT_TRUE(compare_runs(run, one_worker)) << "seed " << seed << " on " << to_string(mesh);
  }
}

TEST(MinGptLayouts, SayWhichAxesTheyKnow) {
  const Partition mesh = Partition::simulated(4).grid({{"dp", 2}, {"mp", 2}});
  const Roles roles = kOdd.config.roles();
  EXPECT_ERROR(ModelSpaces(spaces::one_d(mesh), roles), "spaces::one_d", "has an axis mp", "does not use");
  const Partition split = Partition::simulated(4).grid({{"tp", 2}, {"sp", 2}});
  EXPECT_ERROR(spaces::two_d(split), "spaces::two_d", "an axis sp, but the sequence is whole");
  const Partition rows = Partition::simulated(4).grid({{"tp", 2}, {"row", 2}});
  EXPECT_ERROR(ModelSpaces(spaces::two_d(rows), roles), "spaces::two_d", "has an axis tp");
  EXPECT_ERROR(spaces::sequence_parallel(split), "an axis sp, but the sequence is whole", "Sequence::ring");
}

}  // namespace
}  // namespace riesz::testing
