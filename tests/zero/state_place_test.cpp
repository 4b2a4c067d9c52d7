// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Training whose optimizer keeps its state on a disk is training that keeps it in memory, bit for bit: at
// every stage and layout, by every optimizer that updates elements; and so are its checkpoints.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/checkpoint/background_save.h"
#include "riesz/io/checkpoint/load.h"
#include "riesz/io/checkpoint/save.h"
#include "riesz/io/checkpoint/state_lost.h"
#include "riesz/io/disk/disk_pages.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/one_bit_adam.h"
#include "riesz/optim/sgd.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// Pages of 1,024 numbers of fp32, fewer than most parameters have.
std::shared_ptr<StatePlace> small_pages(const SharedFolder& folder, std::size_t depth) {
  return disk_place(folder.path(), {.depth = depth, .page_bytes = 4096, .by = DiskBy::threads});
}

/// Groups, so that a page has runs of several settings.
std::vector<std::pair<std::string, MakeOptimizer>> by_elements() {
  const std::vector<Group> groups{{.has = matrices(), .learning_rate_scale = 0.5}};
  return {
      {"SGD",
       [=](std::shared_ptr<Store> store) {
         return std::make_unique<SGD>(store, SGDOptions{.learning_rate = 0.1, .momentum = 0.9}, groups);
       }},
      {"Adam",
       [=](std::shared_ptr<Store> store) {
         return std::make_unique<Adam>(store, AdamOptions{.learning_rate = 1e-2, .epsilon = 1e-6}, groups);
       }},
      {"AdamW", [=](std::shared_ptr<Store> store) {
         return std::make_unique<AdamW>(store, AdamWOptions{.learning_rate = 1e-2, .epsilon = 1e-6}, groups);
       }}};
}

MakeOptimizer in(const std::shared_ptr<StatePlace>& place, const MakeOptimizer& make) {
  return [=](std::shared_ptr<Store> store) {
    store->keep_state_in(place, LiesThere::state_and_masters);
    return make(std::move(store));
  };
}

void expect_same(const TrainingRun& a, const TrainingRun& b) {
  ASSERT_EQ(a.results.size(), b.results.size());
  for (const auto& [name, tensor] : a.results) EXPECT_TRUE(at::equal(tensor, b.results.at(name))) << name;
}

TEST(StatePlace, ChangesNoBit) {
  const SharedFolder folder;
  const std::vector<Partition> meshes = dp_tp_meshes();
  std::size_t next = 0;
  for (const int stage : {-1, 0, 1, 2, 3}) {
    const Partition& mesh = meshes[next % meshes.size()];
    const auto [name, make] = by_elements()[next++ % 3];
    const at::ScalarType type = next % 2 == 0 ? at::kDouble : at::kBFloat16;
    SCOPED_TRACE(concat(to_string(mesh), ", stage ", stage, ", ", name, ", ", type));
    Course course{.steps = 2, .optimizer = make, .type = type};
    course.config.layers = 1;
    if (stage >= 0) course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .keep = 50};
    const TrainingRun in_memory = train(course, spaces::one_d(mesh));
    course.optimizer = in(small_pages(folder, next % 3), make);
    expect_same(train(course, spaces::one_d(mesh)), in_memory);
  }
}

/// A small model in training under a stage, its parameters in two stores that are one.
class Pupil {
 public:
  Pupil(int stage, std::uint64_t seed, std::shared_ptr<StatePlace> place, at::ScalarType type = at::kFloat,
        LiesThere what = LiesThere::state_and_masters)
      : course_{.type = type}, model_(spaces::one_d(data_parallel()), small(course_)) {
    model_.initialise(seed, type);
    const std::vector<Parameter> all = model_.parameters();
    const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    const ZeroOptions options{.stage = stage, .bucket = 3000, .keep = 50};
    zeros_.push_back(std::make_unique<Zero>(std::vector<Parameter>(all.begin(), half), options));
    zeros_.push_back(std::make_unique<Zero>(std::vector<Parameter>(half, all.end()), options));
    const std::shared_ptr<Store> store = several({zeros_[0]->store(), zeros_[1]->store()});
    store->keep_state_in(std::move(place), what);
    optimizer_ = std::make_unique<AdamW>(store, AdamWOptions{.epsilon = 1e-6});
  }

  void steps(int from, int to) {
    for (int step = from; step < to; ++step) {
      accumulate(course_, model_, nullptr, step);
      optimizer_->step();
      optimizer_->zero_gradients();
    }
  }
  CheckpointContents contents() { return {optimizer_->state(), published_shapes(model_.parameters()), {}}; }
  void save(const std::filesystem::path& path) { save_checkpoint(path, Partition::world(), contents()); }
  void load(const std::filesystem::path& path) {
    load_checkpoint(path, Partition::world(), optimizer_->state(), published_shapes(model_.parameters()));
  }
  /// By what loads masters that values do not come with.
  void set_masters(double value) {
    for (const StateView& view : optimizer_->state())
      if (view.key == "master") view.change([value](const at::Tensor& x) { x.fill_(value); });
    optimizer_->loaded();
  }
  /// By the program, between two steps.
  void set(std::size_t k, double value) {
    Parameter parameter = model_.parameters()[k];
    parameter.set(at::full(parameter.shape(), value, parameter.type()));
  }
  Optimizer& optimizer() { return *optimizer_; }
  std::int64_t masters_in_memory() const {
    return zeros_[0]->holdings().masters + zeros_[1]->holdings().masters;
  }

 private:
  static const models::MinGptConfig& small(Course& course) {
    course.config.layers = 1;
    return course.config;
  }

  Course course_;
  models::MinGpt model_;
  std::vector<std::unique_ptr<Zero>> zeros_;
  std::unique_ptr<AdamW> optimizer_;
};

void expect_same_state(Pupil& a, Pupil& b) {
  const State of_a = a.optimizer().state(), of_b = b.optimizer().state();
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i)
    EXPECT_TRUE(at::equal(of_a[i].read(), of_b[i].read())) << of_a[i].key << " of " << of_a[i].name;
}

void expect_same_files(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (Runtime::rank() != 0) return;
  const auto expected = files_of(a), found = files_of(b);
  for (const auto& [name, bytes] : expected)
    EXPECT_TRUE(found.contains(name) && found.at(name) == bytes) << name;
}

class StatePlaceOf : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Types, StatePlaceOf, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& instance) { return std::string(c10::toString(instance.param)); });

TEST_P(StatePlaceOf, IsSavedAndGoneOnFrom) {
  const SharedFolder folder, disk;
  const at::ScalarType type = GetParam();
  Pupil in_memory(3, 7, nullptr, type), on_disk(3, 7, small_pages(disk, 1), type);
  for (Pupil* pupil : {&in_memory, &on_disk}) {
    pupil->set(1, 0.37);
    pupil->steps(0, 1);
    pupil->set(2, 0.21);
    pupil->steps(1, 2);
  }
  expect_same_state(on_disk, in_memory);
  in_memory.save(folder.path() / "memory");
  on_disk.save(folder.path() / "disk");
  expect_same_files(folder.path() / "memory", folder.path() / "disk");

  Pupil again(0, 8, small_pages(disk, 2), type), copied(3, 9, small_pages(disk, 1), type);
  again.load(folder.path() / "memory");
  SavedState(Partition::world(), on_disk.optimizer().state()).load(copied.optimizer().state());
  in_memory.steps(2, 4);
  copied.steps(2, 4);
  again.steps(2, 4);
  expect_same_state(copied, in_memory);
  SavedState(Partition::world(), again.optimizer().state()).load(copied.optimizer().state());
  expect_same_state(copied, in_memory);
  for (Pupil* pupil : {&in_memory, &copied}) pupil->set_masters(0.3), pupil->steps(4, 5);
  expect_same_state(copied, in_memory);
}

/// Values alone are copied to memory. What is changed meanwhile is not in the checkpoint.
TEST_P(StatePlaceOf, IsSavedInTheBackgroundWithoutGoingThroughMemory) {
  const SharedFolder folder, disk;
  Pupil in_memory(1, 7, nullptr, GetParam()), on_disk(1, 7, small_pages(disk, 1), GetParam());
  for (Pupil* pupil : {&in_memory, &on_disk}) pupil->steps(0, 2);
  in_memory.save(folder.path() / "memory");
  BackgroundSave save(folder.path() / "disk", Partition::world(), on_disk.contents());
  BackgroundSave all(folder.path() / "copied", Partition::world(), in_memory.contents());
  EXPECT_LE(save.bytes(), all.bytes() / 3 + 4096);  // short vectors are one worker's
  for (Pupil* pupil : {&in_memory, &on_disk}) pupil->steps(2, 3);
  save.wait();
  all.wait();
  expect_same_files(folder.path() / "memory", folder.path() / "disk");
  expect_same_state(on_disk, in_memory);
}

/// By place: a page for each window of what this worker trains, in lines of 4,096 bytes.
TEST_P(StatePlaceOf, HoldsTheBytesOfTheFormula) {
  const SharedFolder folder;
  const std::int64_t numbers = GetParam() == at::kFloat ? 2 : 3;  // with masters
  for (const int stage : {0, 3}) {
    for (const std::size_t depth : {1, 2}) {
      SCOPED_TRACE(concat("stage ", stage, ", depth ", depth));
      Pupil pupil(stage, 7, small_pages(folder, depth), GetParam());
      std::map<std::size_t, std::int64_t> parts;
      for (const Share& share : pupil.optimizer().store()->shares()) parts[share.part] += share.value.numel();
      std::int64_t pages = 0;
      for (const auto& [part, elements] : parts) pages += (elements + 1023) / 1024;
      EXPECT_EQ(pupil.optimizer().bytes_elsewhere(), numbers * pages * 4096);
      EXPECT_EQ(pupil.optimizer().bytes(),
                numbers * std::min(pages, static_cast<std::int64_t>(2 * depth + 1)) * 4096);
      EXPECT_EQ(pupil.masters_in_memory(), 0);
      EXPECT_EQ(Pupil(stage, 7, nullptr).optimizer().bytes_elsewhere(), 0);
    }
  }
}

TEST(StatePlace, StaysThatOfTheMakingOfTheOptimizer) {
  const SharedFolder disk;
  Pupil expected(1, 7, nullptr), in_memory(1, 7, nullptr), on_disk(1, 7, small_pages(disk, 1));
  in_memory.optimizer().store()->keep_state_in(small_pages(disk, 2));
  on_disk.steps(0, 1);
  on_disk.optimizer().store()->keep_state_in(nullptr);
  on_disk.steps(1, 2);
  for (Pupil* pupil : {&expected, &in_memory}) pupil->steps(0, 2);
  expect_same_state(in_memory, expected);
  expect_same_state(on_disk, expected);
}

/// Masters go there and come back with the optimizers that are made of a store.
TEST(StatePlace, TakesMastersAndGivesThemBack) {
  const SharedFolder disk;
  const auto state = LiesThere::state;
  Pupil expected(2, 7, nullptr, at::kBFloat16), some(2, 7, small_pages(disk, 1), at::kBFloat16, state),
      back(2, 7, small_pages(disk, 1), at::kBFloat16);
  EXPECT_EQ(some.masters_in_memory(), expected.masters_in_memory());
  EXPECT_EQ(back.masters_in_memory(), 0);
  for (Pupil* pupil : {&expected, &some, &back}) pupil->steps(0, 2);
  expect_same_state(some, expected);
  const std::shared_ptr<Store> store = back.optimizer().store();
  store->keep_state_in(small_pages(disk, 0), LiesThere::state_and_masters);
  const AdamW other(store);
  store->keep_state_in(nullptr);
  const AdamW third(store);
  EXPECT_EQ(back.masters_in_memory(), expected.masters_in_memory());
  const State theirs = expected.optimizer().store()->state(), ours = store->state();
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i)
    EXPECT_TRUE(at::equal(ours[i].read(), theirs[i].read())) << ours[i].key << " of " << ours[i].name;
}

/// Of parameters that are not shared out too, also where half values and others are neighbours.
TEST(StatePlace, TakesMastersOfWholeParameters) {
  const SharedFolder disk;
  const auto trained = [&](std::shared_ptr<StatePlace> place) {
    std::vector<Parameter> parameters;
    for (const at::ScalarType type : {at::kBFloat16, at::kFloat, at::kHalf, at::kHalf}) {
      parameters.emplace_back(concat("w", parameters.size()), Space(Partition::world(), {700}),
                              ParameterOptions{Initial::ones(), true});
      parameters.back().initialise(1, type);
    }
    const std::shared_ptr<Store> store = whole(parameters);
    store->keep_state_in(std::move(place), LiesThere::state_and_masters);
    AdamW optimizer(store, AdamWOptions{.learning_rate = 1e-3});
    const at::NoGradGuard no_gradient;
    for (int step = 0; step < 6; ++step) {
      if (step == 3) parameters[0].leaf().fill_(2);  // makes its master anew
      for (const Parameter& each : parameters)
        each.leaf().mutable_grad() = at::full({700}, 0.25 * (step + 1), each.type());
      optimizer.step();
    }
    std::map<std::string, at::Tensor> all;
    for (const StateView& view : optimizer.state()) all[view.key + " of " + view.name] = view.read().clone();
    return all;
  };
  const auto expected = trained(nullptr), found = trained(small_pages(disk, 1));
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [what, tensor] : expected) EXPECT_TRUE(at::equal(found.at(what), tensor)) << what;
}

/// As in memory, wherever the window lies when the next one is brought.
TEST(StatePlace, KeepsWhatAnUpdateThatThrewHasChanged) {
  const SharedFolder disk;
  models::MinGpt model(spaces::one_d(data_parallel()), Course{}.config);
  model.initialise(7, at::kFloat);
  const std::vector<Extent> shares = extents(whole(model.parameters())->shares());
  const std::vector<StateWindow> windows = windows_of(shares, 4096);
  const auto kept = std::make_shared<PerElement>("first", shares, windows, *small_pages(disk, 0), "a test");
  kept->bring(0);
  kept->of(windows[0].shares.first, windows[0].shares.last).fill_(1);
  kept->expect(1);
  kept->bring(1);
  kept->bring(0);
  EXPECT_TRUE(kept->of(windows[0].shares.first, windows[0].shares.last).eq(1).all().item<bool>());
}

/// A disk that fails when it is told to.
class FailingDisk : public StatePlace {
 public:
  explicit FailingDisk(const SharedFolder& folder) : folder_(folder.path()) {}

  std::unique_ptr<Pages> room(const std::string& what, const std::vector<std::int64_t>& sizes) override {
    RIESZ_CHECK(!full, what, ": cannot reserve: ", describe());
    return std::make_unique<DiskPages>(what, std::vector{folder_}, sizes, depth(), transfers_);
  }
  std::int64_t page_bytes() const override { return 4096; }
  std::size_t depth() const override { return 1; }
  std::string describe() const override { return "a disk that fails"; }

  void fail() { transfers_->fails = true; }
  bool full = false;

 private:
  struct Transfers : DiskTransfers {
    std::uint64_t begin(DiskTransfer transfer) override { return by->begin(std::move(transfer)); }
    std::optional<DiskTransferEnd> ended(std::uint64_t number) override {
      const std::optional<DiskTransferEnd> end = by->ended(number);
      return end && fails ? DiskTransferEnd{0, EIO} : end;
    }
    const char* name() const override { return "threads"; }

    std::shared_ptr<DiskTransfers> by = transfers_by_threads(2);
    bool fails = false;
  };

  std::filesystem::path folder_;
  std::shared_ptr<Transfers> transfers_ = std::make_shared<Transfers>();
};

/// The others make the same step, whose moves they share, and throw the same.
TEST(StatePlace, ThatFailsOnOneWorkerEndsTheStepOnAll) {
  for (const int stage : {0, 3}) {
    const SharedFolder disk;
    const auto place = std::make_shared<FailingDisk>(disk);
    Pupil pupil(stage, 7, place);
    pupil.steps(0, 1);
    if (Runtime::rank() == Runtime::size() - 1) place->fail();
    for (int again = 0; again < 2; ++again) {
      EXPECT_ERROR(pupil.steps(1, 2), concat("[rank ", Runtime::size() - 1, " of "), "Input/output error",
                   "the optimizer's state is lost, so go on from the last checkpoint");
      pupil.optimizer().zero_gradients();
    }
  }
}

TEST(StatePlace, ThatIsFullOnOneWorkerIsRefusedOnAll) {
  const SharedFolder disk;
  const auto place = std::make_shared<FailingDisk>(disk);
  place->full = Runtime::rank() == 0;
  EXPECT_ERROR(Pupil(1, 7, place), "[rank 0 of ", "cannot reserve");
}

/// And leaves no checkpoint.
TEST(StatePlace, ThatFailsOnOneWorkerEndsTheSaveOnAll) {
  const SharedFolder folder, disk;
  const auto place = std::make_shared<FailingDisk>(disk);
  Pupil pupil(3, 7, place);
  pupil.steps(0, 1);
  if (Runtime::rank() == Runtime::size() - 1) place->fail();
  EXPECT_ERROR(pupil.save(folder.path() / "now"), concat("[rank ", Runtime::size() - 1, " of "),
               "Input/output error", "the optimizer's state is lost");
  EXPECT_THROW(BackgroundSave(folder.path() / "behind", Partition::world(), pupil.contents()), StateLost);
  if (Runtime::rank() == 0) {
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
}

TEST(StatePlace, IsRefusedWhereUpdatesLookAtWholeParameters) {
  const SharedFolder folder;
  models::MinGpt model(spaces::one_d(data_parallel()), Course{}.config);
  model.initialise(7, at::kFloat);
  const Zero zero(model.parameters(), {.stage = 1});
  const std::shared_ptr<Store> store = zero.store();
  store->keep_state_in(disk_place(folder.path()));
  EXPECT_ERROR(Lamb(store, LambOptions{}), "Lamb: its state cannot lie on the disk of ",
               "looks at whole parameters", "take SGD, Adam or AdamW");
  EXPECT_ERROR(Adafactor(store, AdafactorOptions{}), "Adafactor: its state cannot lie on");
  EXPECT_ERROR(OneBitAdam(store, data_parallel().along("dp")), "OneBitAdam: its state cannot lie on");
  store->keep_state_in(nullptr);
  Lamb of_memory(store);
}

}  // namespace
}  // namespace riesz::testing
