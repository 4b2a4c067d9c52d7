// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "lying.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/io/checkpoint/folder.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/plan.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/safetensors/stored_tensors.h"
#include "riesz/partition/split.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "riesz/testing/parts.h"
#include "shared_folder.h"

namespace riesz::testing {
namespace {

/// The bytes of the folder depend on the vectors alone, in one file or several.
TEST(Checkpoint, HasTheSameBytesAtEveryLayout) {
  const SharedFolder folder;
  for (const std::int64_t most : {1 << 30, 4000}) {
    const SaveOptions options{.file_bytes = most};
    const auto alone = folder.path() / "alone";
    save_checkpoint(alone, first_alone(), Lying(first_alone(), false).contents(), options);
    for (const Partition& mesh : dp_tp_grids()) {
      const auto path = folder.path() / "shared";
      const Partition world = Partition::world();
      save_checkpoint(path, world, Lying(mesh, false).contents(), options);
      if (Runtime::rank() != 0) continue;
      const auto expected = files_of(alone), found = files_of(path);
      EXPECT_EQ(expected.size(), most > 4000 ? 3u : 10u);
      EXPECT_EQ(found.contains("model.safetensors.index.json"), most == 4000);
      for (const auto& [name, bytes] : expected)
        EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name << " at " << to_string(mesh);
      EXPECT_EQ(found.size(), expected.size());
      EXPECT_EQ(found.at("state.json"), "{\"step\": 3}\n");
    }
  }
}

/// The same bytes, though what was copied changes meanwhile, or goes; what follows comes when it is there.
TEST(Checkpoint, IsWrittenWhileItsStateChanges) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const auto expected_path = folder.path() / "expected", path = folder.path() / "x";
  save_checkpoint(expected_path, first_alone(), Lying(first_alone(), false).contents());
  for (const Partition& mesh : dp_tp_grids()) {
    bool was_there = false;
    std::optional<BackgroundSave> save;
    {
      const Lying lying(mesh, false);
      save.emplace(path, world, lying.contents(), [&] { was_there = std::filesystem::exists(path); });
      for (const StateView& view : lying.state) view.tensor.zero_();
    }
    save->wait();
    EXPECT_TRUE(save->go_on());
    EXPECT_EQ(was_there, Runtime::rank() == 0);
    if (Runtime::rank() == 0) {
      EXPECT_TRUE(files_of(path) == files_of(expected_path)) << to_string(mesh);
    }
    wait_for_all(world);
  }
}

/// The last worker finishes it alone, as after an error, or just destroys it; the others call nothing yet.
TEST(Checkpoint, IsFinishedWhateverItsWorkersDo) {
  const SharedFolder folder;
  const Partition world = Partition::world(), mesh = dp_tp_grids().back();
  const auto expected_path = folder.path() / "expected", path = folder.path() / "x";
  save_checkpoint(expected_path, world, Lying(mesh, false).contents());
  const bool last = Runtime::rank() + 1 == Runtime::size();
  for (const bool waits : {true, false}) {
    std::optional<BackgroundSave> save(std::in_place, path, world, Lying(mesh, false).contents());
    if (last && waits) {
      EXPECT_EQ(save->finish(), "");
    }
    if (last) save.reset();
    EXPECT_TRUE(!last || files_of(path) == files_of(expected_path));
    wait_for_all(world);
    save.reset();
    wait_for_all(world);
    if (Runtime::rank() == 0) std::filesystem::remove_all(path);
  }
}

/// What one worker or any grid has saved, any grid loads.
TEST(Checkpoint, IsLoadedAtEveryLayout) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const std::vector<Partition> grids = dp_tp_grids();
  save_checkpoint(folder.path() / "x", world, Lying(grids.back(), false).contents(), {.file_bytes = 4000});
  for (const Partition& mesh : grids) {
    Lying other(mesh, true);
    EXPECT_TRUE(load_checkpoint(folder.path() / "x", world, other.state, other.shapes).empty());
    other.expect_filled();
  }
  Lying alone(first_alone(), true);
  load_checkpoint(folder.path() / "x", first_alone(), alone.state, alone.shapes);
  if (Runtime::rank() == 0) alone.expect_filled();
}

TEST(Checkpoint, HasPublishedNamesAndShapes) {
  const SharedFolder folder;
  save_checkpoint(folder.path() / "x", Partition::world(), Lying(dp_tp_grids().front(), false).contents());
  const StoredTensors model(folder.path() / "x"), optimizer(folder.path() / "x", "optimizer");
  const std::vector<std::int64_t> heads{24, 120};
  EXPECT_EQ(model.find("heads")->shape, heads);
  EXPECT_EQ(optimizer.find("exp_avg.heads")->shape, heads);
  for (const char* name : {"exp_avg_sq.table", "step.table", "master.both", "value.loss_scale"})
    EXPECT_NE(optimizer.find(name), nullptr) << name;
  EXPECT_EQ(model.metadata().at("format"), "pt");
}

/// All that does not fit is said at once, on all workers, and nothing is written; or, not strictly, the rest
/// is.
TEST(Checkpoint, SaysAllThatDoesNotFit) {
  const SharedFolder folder;
  const auto path = folder.path() / "x";
  const Partition world = Partition::world();
  const Partition mesh = dp_tp_grids().front();
  CheckpointContents contents = Lying(mesh, false).contents();
  contents.texts["config.json"] = R"({"model_type": "llama"})";
  save_checkpoint(path, world, contents);
  Lying other(mesh, true);
  for (StateView& view : other.state) {
    if (view.name == "norm") view.name = "norms";
    if (view.name == "ids") view.tensor = view.tensor.to(at::kInt);
    if (view.key == "first") view.tensor = view.tensor.to(at::kDouble);
    if (view.name == "both" && view.key == "value") view.tensor = view.tensor.to(at::kFloat);  // is cast
  }
  other.shapes["heads"] = {120, 24};
  EXPECT_ERROR(load_checkpoint(path, world, other.state, other.shapes),
               "x\", by its config.json a \"llama\": what it has is not what", "nothing was changed",
               "1 missing:\n    \"norms\"", "1 extra:\n    \"norm\"", "3 of another shape or type:",
               "\"exp_avg.heads\": Float of [24, 120] in the file, and Double of [120, 24] here",
               "\"heads\": Float of [24, 120] in the file, and Float of [120, 24] here",
               "\"ids\": Long of [7] in the file, and Int of [7] here", "strict = false");
  for (const StateView& view : other.state) EXPECT_EQ(view.tensor.count_nonzero().item<std::int64_t>(), 0);

  const LoadReport report = load_checkpoint(path, world, other.state, other.shapes, {.strict = false});
  EXPECT_EQ(report.missing, std::vector<std::string>{"\"norms\""});
  EXPECT_EQ(report.extra, std::vector<std::string>{"\"norm\""});
  EXPECT_EQ(report.misshapen.size(), 3u);
  Lying filled(mesh, false);
  for (std::size_t i = 0; i < filled.state.size(); ++i) {
    const StateView& view = other.state[i];
    const bool left = view.name == "norms" || view.name == "ids" || (view.name == "heads");
    const at::Tensor expected = filled.state[i].tensor.to(view.tensor.scalar_type());
    EXPECT_TRUE(at::equal(view.tensor, left ? at::zeros_like(expected) : expected)) << view.name;
  }
  // On those too who want nothing.
  State less;
  for (const StateView& view : filled.state)
    if (view.name != "norm" && Runtime::rank() == 0) less.push_back(view);
  EXPECT_ERROR(load_checkpoint(path, world, less, filled.shapes), " extra:\n", "    \"norm\"");
  EXPECT_ERROR(load_checkpoint(folder.path() / "none", world, other.state, other.shapes),
               "there is no file or folder");
}

TEST(Checkpoint, SaysWhatIsIncomplete) {
  const SharedFolder folder;
  Lying one(dp_tp_grids().back(), false);  // dp holds the flat pieces
  for (StateView& view : one.state) {
    if (view.key == "second" && Runtime::rank() + 1 == Runtime::size())
      view = {view.name, view.key, view.space, {0, 0}, true, view.tensor.narrow(0, 0, 0)};
  }
  EXPECT_ERROR(save_checkpoint(folder.path() / "x", Partition::world(), one.contents()),
               "of the second of table", "elements are held of 2328");
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "x"));
}

/// Vectors of 4 MB, in columns: to save some of them a worker holds its own parts and 1/p of one more, twice
/// (as it leaves and as it comes); in the background 1/p of each of them too, until it is written; to load
/// them, nothing more than 1 MB.
TEST(Checkpoint, NeedsNoMemoryForTheWhole) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const Space X = Space(world, {1024, 1024}).sharded(1, "world");
  const auto numbers = [&](const char* name) {
    return at::arange(volume(X.boxes(world.rank())), at::kFloat).remainder_(8191).add_(name[0]);
  };
  CheckpointContents contents;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    const at::Tensor part = numbers(name);
    contents.state.push_back({name, "value", X, {0, part.numel()}, true, part});
  }
  const std::int64_t vector = 4 << 20, slack = 1 << 20;
  finish_background();
  const MemoryMeter meter;
  save_checkpoint(folder.path() / "x", world, contents);
  EXPECT_LE(MemoryMeter::peak(), 3 * vector / Runtime::size() + slack);
  finish_background();
  MemoryMeter::restart();
  {
    BackgroundSave save(folder.path() / "x", world, contents);
    EXPECT_LE(std::abs(save.bytes() - 6 * vector / Runtime::size()), 6 * 4 * Runtime::size());
    EXPECT_LE(MemoryMeter::peak(), save.bytes() + 3 * vector / Runtime::size() + slack);
    save.wait();
    EXPECT_LE(MemoryMeter::alive(), slack);
  }
  finish_background();
  MemoryMeter::restart();
  const std::int64_t before = MemoryMeter::alive();
  for (const StateView& view : contents.state) view.tensor.zero_();
  load_checkpoint(folder.path() / "x", world, contents.state, {});
  EXPECT_LE(MemoryMeter::peak() - before, slack);
  EXPECT_TRUE(at::equal(contents.state[2].tensor, numbers("c")));

  MemoryMeter::restart();
  const std::int64_t alone = MemoryMeter::alive(), own = volume(X.boxes(world.rank())) * 4;
  std::vector<Parameter> parameters;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    parameters.emplace_back(name, X, ParameterOptions{});
    parameters.back().initialise(1, at::kFloat);
  }
  load_weights(folder.path() / "x", parameters);
  EXPECT_EQ(MemoryMeter::alive() - alone, 6 * own);  // nothing was drawn
  EXPECT_LE(MemoryMeter::peak() - alone, 6 * own + slack);
  load_weights(folder.path() / "x", parameters);  // over values
  EXPECT_LE(MemoryMeter::peak() - alone, 6 * own + slack);
  EXPECT_TRUE(at::equal(parameters[2].get().local().flatten(), numbers("c")));
}

/// A worker that cannot write says so on all, and what was there stays.
TEST(Checkpoint, StaysAsItWasWhereADiskIsFull) {
  const SharedFolder folder;
  const auto path = folder.path() / "x";
  const Partition mesh = dp_tp_grids().front(), world = Partition::world();
  save_checkpoint(path, world, Lying(mesh, true).contents());
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const bool last = Runtime::rank() + 1 == Runtime::size();
  const struct rlimit less { 2000, before.rlim_max };
  if (last) ::setrlimit(RLIMIT_FSIZE, &less);
  const std::string who = concat("[rank ", Runtime::size() - 1, " of ");
  constexpr const char* kLimited =
      "File too large (this process may write files of at most 2000 bytes; raise it by ulimit -f)";
  EXPECT_ERROR(save_checkpoint(path, world, Lying(mesh, false).contents()), who, "cannot write",
               ".x.unfinished", kLimited);
  BackgroundSave save(path, world, Lying(mesh, false).contents());
  EXPECT_ERROR(save.wait(), who, "cannot write", ".x.unfinished", "File too large");
  EXPECT_TRUE(save.go_on());  // it is over
  BackgroundSave again(path, world, Lying(mesh, false).contents());
  const std::string text = again.finish();
  EXPECT_TRUE(text.starts_with(who) && text.ends_with(kLimited)) << text;
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / ".x.unfinished"));
  Lying other(mesh, false);
  load_checkpoint(path, world, other.state, other.shapes);
  for (const StateView& view : other.state) EXPECT_EQ(view.tensor.count_nonzero().item<std::int64_t>(), 0);
}

/// Two jobs that write one folder at once: the second is refused, and leaves what the first has written.
TEST(Checkpoint, IsNotWrittenByTwoJobsAtOnce) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const auto path = folder.path() / "deep/x";
  const auto save = [&](bool replaces) {
    save_checkpoint(path, world, Lying(dp_tp_grids().front(), false).contents(), {.replaces = replaces});
  };
  std::optional<WholeFolder> first;
  if (Runtime::rank() == 0) {
    first.emplace(path);
    first->make();
    std::ofstream(first->unfinished() / "half") << "of the first";
  }
  wait_for_all(world);
  EXPECT_ERROR(save(true), "x\" is in use by another job", "choose another folder");
  if (first) {
    EXPECT_EQ(files_of(first->unfinished()).at("half"), "of the first");
    first->finish();
    EXPECT_EQ(files_of(path).size(), 1u);
  }
  wait_for_all(world);
  EXPECT_ERROR(save(false), "there is something at", "choose another name");
  save(true);
  EXPECT_EQ(files_of(folder.path() / "deep/x").size(), 3u);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "deep/.x.unfinished.lock"));
}

/// Weights alone, into parameters of another type and at any layout.
TEST(Checkpoint, GivesParametersTheirValues) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const Parameter there("w", Space(world, {6, 10}).sharded(0, "world"),
                        {.initial = Initial::normal(1), .shape = {60}});
  Parameter(there).initialise(3, at::kFloat);
  save_checkpoint(folder.path() / "x", world, {state_of_values({there}), published_shapes({there}), {}});
  const Parameter here("w", Space(world, {6, 10}).sharded(1, "world"), {.shape = {60}});
  Parameter(here).initialise(4, at::kBFloat16);
  EXPECT_TRUE(load_weights(folder.path() / "x", {here}).empty());
  EXPECT_SAME_BITS(meant(here.get()), meant(there.get()).to(at::kBFloat16));

  const Parameter other("v", Space(world, {60}), {});
  Parameter(other).initialise(4, at::kFloat);
  EXPECT_ERROR(load_weights(folder.path() / "x", {other}), "1 missing:\n    \"v\"", "1 extra:\n    \"w\"");
  EXPECT_EQ(to_string(load_weights(folder.path() / "x", {other}, {.strict = false})),
            "\n  1 missing:\n    \"v\"\n  1 extra:\n    \"w\"");

  // What `called` calls it decides, also where a tensor has the parameter's own name.
  Parameter(here).set(at::zeros({60}));
  for (const std::string name : {"", "nobody"}) {
    const LoadOptions options{.called = [name](const std::string&) { return name; }};
    EXPECT_ERROR(load_weights(folder.path() / "x", {here}, options), "1 missing:\n    \"w\"",
                 name.empty() ? "missing" : "1 extra:\n    \"w\"");
  }
  EXPECT_EQ(meant(here.get()).abs().max().item<double>(), 0);
  EXPECT_TRUE(
      load_weights(folder.path() / "x", {other}, {.called = [](const std::string&) { return "v"; }}).empty());
  EXPECT_SAME_BITS(meant(other.get()), meant(there.get()).view({60}));
}

/// Weights that training has lost are named, and only where it is asked.
TEST(Checkpoint, SaysWhichWeightsAreNotFinite) {
  const SharedFolder folder;
  const Partition world = Partition::world();
  const Parameter good("good", Space(world, {6, 10}).sharded(0, "world"), {.initial = Initial::normal(1)});
  Parameter bad("bad", Space(world, {8}), {.initial = Initial::normal(1)});
  Parameter(good).initialise(3, at::kFloat);
  bad.initialise(3, at::kFloat);
  const auto save = [&](float value) {
    at::Tensor values = at::ones({8}, at::kFloat);
    values[2] = value;
    bad.set(values);
    save_checkpoint(folder.path() / "x", world,
                    {state_of_values({good, bad}), published_shapes({good, bad}), {}});
  };
  for (const float value : {std::nanf(""), -INFINITY}) {
    save(value);
    EXPECT_ERROR(load_weights(folder.path() / "x", {good, bad}, {.finite = true}),
                 "x\": tensor \"bad\" has 1 numbers", "not finite, of 8");
    EXPECT_TRUE(load_weights(folder.path() / "x", {good, bad}).empty());
  }
  save(3e38F);
  EXPECT_TRUE(load_weights(folder.path() / "x", {good, bad}, {.finite = true}).empty());
}

/// What workers hold they write themselves where that is one interval each, of fair sizes.
TEST(Checkpoint, IsWrittenByThoseWhoHoldIt) {
  EXPECT_EQ(written_by(4000, {{{2000, 4000}}, {{0, 2000}}}),
            Split::pieces(4000, {{{2000, 4000}}, {{0, 2000}}}));
  EXPECT_EQ(written_by(4000, {{{0, 1000}, {3000, 4000}}, {{1000, 3000}}}), Split::sizes({2000, 2000}));
  EXPECT_EQ(written_by(4000, {{{0, 4000}}, {{0, 4000}}}), Split::sizes({2000, 2000}));
  EXPECT_EQ(written_by(100, {{}, {{0, 50}}, {{50, 100}}}), Split::pieces(100, {{}, {{0, 50}}, {{50, 100}}}));
  EXPECT_EQ(written_by(100, {{{0, 60}}, {{50, 100}}, {{0, 30}, {90, 100}}}),
            Split::pieces(100, {{{0, 60}}, {{60, 100}}, {}}));
}

TEST(Checkpoint, KeepsTheLast) {
  const SharedFolder folder;
  if (Runtime::rank() != 0) return;
  for (const char* name : {"checkpoint-9", "checkpoint-10", "checkpoint-100", "checkpoint-07", "checkpoint-",
                           ".checkpoint-11.unfinished", ".checkpoint-12.unfinished.lock", "other"})
    std::filesystem::create_directories(folder.path() / name / "x");
  std::ofstream(folder.path() / "checkpoint-200") << "no folder";
  const auto all = checkpoints_in(folder.path());
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all.back().first, 100);
  keep_checkpoints(folder.path(), 2);
  const auto left = checkpoints_in(folder.path());
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(left.front().first, 10);
  for (const char* gone : {"checkpoint-9", ".checkpoint-9.unfinished", ".checkpoint-11.unfinished",
                           ".checkpoint-12.unfinished.lock"})
    EXPECT_FALSE(std::filesystem::exists(folder.path() / gone)) << gone;
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "checkpoint-07"));
}

}  // namespace
}  // namespace riesz::testing
