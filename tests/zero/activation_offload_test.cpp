// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Training whose blocks save for backward on a disk is training that saves in memory, bit for bit; what
// moves, and what stays in memory, by formula; what goes wrong is said.
#include "riesz/nn/offload/activation_offload.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../io/shared_folder.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/disk/activations_on_disk.h"
#include "riesz/io/disk/transfers.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "training.h"

namespace riesz::testing {
namespace {

using Regions = RecomputePolicy::Regions;

std::int64_t lines(std::int64_t bytes) { return (bytes + 4095) / 4096 * 4096; }

/// Of activations that are larger than a line on each of 8 workers.
Course course_of(std::int64_t layers) {
  Course course{.batch = 12, .steps = 2};
  course.config.layers = layers, course.config.context = 40;
  return course;
}

/// What the training's model is, for its blocks' names. Two folders take what is saved in turns.
struct Offloaded {
  Offloaded(const Course& course, const Layout& layout, const SharedFolder& folder, std::size_t depth,
            DiskBy by = DiskBy::any)
      : model(layout, course.config),
        offload(model,
                activations_on_disk(
                    std::vector<std::filesystem::path>{folder.path() / "first", folder.path() / "second"}, by),
                depth),
        scope(offload) {}
  MovedBytes moved() const { return offload.place().moved(); }

  models::MinGpt model;
  ActivationOffload offload;
  OffloadScope scope;
};

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  for (const Partition& mesh : dp_tp_meshes()) all.push_back(spaces::one_d(mesh));
  all.push_back(spaces::sequence_parallel(Partition::world().grid({{"dp", 1}, {"tp", Runtime::size()}})));
  return all;
}

std::int64_t sent() {
  finish_background();
  return Counters::instance().total().elements;
}

TEST(ActivationOffload, ChangesNoBit) {
  const SharedFolder folder;
  const std::vector<RecomputePolicy> policies{{},
                                              {.regions = Regions::blocks},
                                              {.regions = Regions::blocks, .pieces_over = {"tp"}},
                                              {.regions = Regions::attention},
                                              {.regions = Regions::blocks, .every = 2}};
  const std::vector<Layout> all = layouts();
  std::size_t next = 0;
  for (const int stage : {-1, 0, 1, 2, 3}) {
    const Layout& layout = all[next % all.size()];
    for (const std::size_t depth : {1, 2}) {
      Course course = course_of(4);
      course.micro_batches = depth == 1 ? 1 : 2;
      course.optimizer = some_optimizers()[0].second;
      course.recompute = policies[(next + depth) % policies.size()];
      course.type = depth == 1 || stage < 0 ? at::kDouble : at::kBFloat16;
      course.config.dropout = 0.1, course.config.tied = depth == 2;
      if (stage >= 0) course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .keep = 50};
      SCOPED_TRACE(concat(layout.name, " on ", to_string(layout.mesh), ", stage ", stage, ", depth ", depth,
                          ", policy ", (next + depth) % policies.size()));
      const std::int64_t before = sent();
      const TrainingRun in_memory = train(course, layout);
      const std::int64_t of_plain = sent() - before;
      const Offloaded on_disk(course, layout, folder, depth, depth == 1 ? DiskBy::threads : DiskBy::any);
      expect_same_bits(train(course, layout), in_memory);
      EXPECT_EQ(sent() - before, 2 * of_plain);
      if (depth > 1) continue;  // of half as many rows some are too small to move
      EXPECT_GT(on_disk.moved().written, on_disk.moved().read);
      EXPECT_GT(on_disk.moved().read, 0);
    }
    ++next;
  }
  if (Runtime::rank() == 0) {
    for (const char* each : {"first", "second"}) EXPECT_TRUE(std::filesystem::is_empty(folder.path() / each));
  }
}

/// What moves in the second step, in which room is used again.
MovedBytes moved(const SharedFolder& folder, std::int64_t layers, std::size_t depth,
                 const RecomputePolicy& policy) {
  Course course = course_of(layers);
  const Layout layout = spaces::one_d(data_parallel());
  models::MinGpt model(layout, course.config);
  model.initialise(1, course.type);
  set_recompute(model, policy);
  ActivationOffload offload(model, activations_on_disk(folder.path()), depth);
  const OffloadScope scope(offload);
  accumulate(course, model, nullptr, 0);
  const auto [written, read] = offload.place().moved();
  const std::int64_t room = offload.place().bytes();
  accumulate(course, model, nullptr, 1);
  EXPECT_EQ(offload.place().bytes(), room);
  EXPECT_EQ(room, written);
  return {offload.place().moved().written - written, offload.place().moved().read - read};
}

/// The last block is not written, and the last depth + 1 are not read.
TEST(ActivationOffload, MovesTheBytesOfTheFormula) {
  const SharedFolder folder;
  const Course course = course_of(1);
  const std::int64_t rows = (course.batch - Runtime::rank() + Runtime::size() - 1) / Runtime::size();
  const std::int64_t stream = lines(rows * course.config.context * course.config.width * 8);
  for (const std::size_t depth : {1, 2, 3}) {
    const auto d = static_cast<std::int64_t>(depth);
    EXPECT_EQ(moved(folder, 6, depth, {.regions = Regions::blocks}),
              (MovedBytes{5 * stream, (5 - d) * stream}));
  }
  const std::int64_t first = moved(folder, 2, 1, {}).written;
  const MovedBytes two = moved(folder, 3, 1, {});
  const std::int64_t block = two.written - first;
  EXPECT_GT(block, 10 * stream);
  EXPECT_EQ(two.read, first);
  EXPECT_EQ(moved(folder, 6, 2, {}), (MovedBytes{first + 4 * block, first + 2 * block}));
  EXPECT_EQ(moved(folder, 1, 1, {}), MovedBytes{});
}

/// The most bytes of tensors in the second step.
std::int64_t most_in_memory(const Course& course, const Layout& layout) {
  models::MinGpt model(layout, course.config);
  model.initialise(1, course.type);
  accumulate(course, model, nullptr, 0);
  finish_background();
  const MemoryMeter meter;
  accumulate(course, model, nullptr, 1);
  finish_background();
  return MemoryMeter::peak();
}

/// More blocks take no more memory, but for what is too small to move.
TEST(ActivationOffload, HoldsAFewBlocksInMemory) {
  const SharedFolder folder;
  const Layout layout = spaces::one_d(data_parallel());
  const std::int64_t block = moved(folder, 3, 1, {}).written - moved(folder, 2, 1, {}).written;
  const auto peak = [&](std::int64_t layers, std::size_t depth) {
    const Course course = course_of(layers);
    std::optional<Offloaded> on_disk;
    if (depth > 0) on_disk.emplace(course, layout, folder, depth);
    return most_in_memory(course, layout);
  };
  EXPECT_GT(peak(9, 0) - peak(5, 0), 4 * block * 9 / 10);
  EXPECT_LT(peak(9, 1) - peak(5, 1), block / 4);
  EXPECT_LT(peak(9, 1), peak(9, 0) - 6 * block);
  const std::int64_t two_more = peak(9, 3) - peak(9, 1);
  EXPECT_GE(two_more, 2 * block);
  EXPECT_LT(two_more, 2 * (block + 10 * 4096));  // of each memory a line, to begin at one
}

/// x ↦ 2x², which saves x four times.
class Square : public Layer<Square> {
 public:
  explicit Square(OwnerAndName place) : Layer(std::move(place)) {}
  Vector forward(const Vector& x) {
    const Vector y = x * x + x * x;
    if (writes) x.local().detach().add_(1);
    return y;
  }
  std::string describe() const override { return "Square"; }

  bool writes = false;
};

struct Squares : Layer<Squares> {
  Squares() : Layer(OwnerAndName("squares")), each(*this, "each", 5) {}
  Vector forward(const Vector& x) { return each(x); }
  std::string describe() const override { return "Squares"; }

  Repeated<Square> each;
};

struct SquaresOnDisk {
  SquaresOnDisk(const SharedFolder& folder, std::shared_ptr<DiskTransfers> transfers)
      : offload(model,
                detail::activations_on_disk(std::vector<std::filesystem::path>{folder.path()},
                                            std::move(transfers)),
                1) {}

  at::Tensor gradient(bool on_disk = true) {
    const Space X = Space(data_parallel(), {24, 1001}).sharded(0, "dp");
    const at::Tensor x = at::full(X.local_shape(), 0.3, at::kDouble).requires_grad_();
    std::optional<OffloadScope> scope;
    if (on_disk) scope.emplace(offload);
    Chain chain;
    const Vector y = model(Vector(X, x.alias()));
    backward(y, Vector(dual(X), at::full(X.local_shape(), 1, at::kDouble)));
    return x.grad();
  }

  Squares model;
  ActivationOffload offload;
};

/// The first block's is a leaf's, which its owner holds, and the last block's is not written.
TEST(ActivationOffload, WritesMemoryThatIsSavedTwiceOnce) {
  const SharedFolder folder;
  SquaresOnDisk squares(folder, transfers_by_threads(2));
  EXPECT_TRUE(at::equal(squares.gradient(), squares.gradient(false)));
  const std::int64_t rows = (24 - Runtime::rank() + Runtime::size() - 1) / Runtime::size();
  const std::int64_t x = lines(rows * 1001 * 8);
  EXPECT_EQ(squares.offload.place().moved(), (MovedBytes{3 * x, 2 * x}));
}

TEST(ActivationOffload, SaysThatWhatWasSavedWasWrittenTo) {
  const SharedFolder folder;
  SquaresOnDisk squares(folder, transfers_by_threads(2));
  squares.model.each[2].writes = true;
  EXPECT_ERROR(squares.gradient(), "a tensor of Double [",
               "1001], which a block saved for backward, was written to");
}

/// Transfers that end as a test says, once they have been made.
struct BadTransfers : DiskTransfers {
  std::uint64_t begin(DiskTransfer transfer) override {
    const std::optional<DiskTransferEnd> end = transfer.writes ? write : read;
    const std::uint64_t number = by->begin(std::move(transfer));
    if (end) bad.emplace(number, *end);
    return number;
  }
  std::optional<DiskTransferEnd> ended(std::uint64_t number) override {
    const std::optional<DiskTransferEnd> end = by->ended(number);
    return end && bad.contains(number) ? bad.at(number) : end;
  }
  const char* name() const override { return "threads"; }

  std::shared_ptr<DiskTransfers> by = transfers_by_threads(2);
  std::map<std::uint64_t, DiskTransferEnd> bad;
  std::optional<DiskTransferEnd> write, read;
};

TEST(ActivationOffload, SaysThatADiskFails) {
  const SharedFolder folder;
  const auto full = std::make_shared<BadTransfers>(), broken = std::make_shared<BadTransfers>(),
             cut = std::make_shared<BadTransfers>();
  full->write = DiskTransferEnd{4096, ENOSPC};
  broken->read = DiskTransferEnd{0, EIO};
  cut->read = DiskTransferEnd{4096, 0};
  EXPECT_ERROR(SquaresOnDisk(folder, full).gradient(), "activations: cannot write its file in ",
               folder.path().string(), "No space left on device, at byte 4096 of ",
               "what blocks saved for backward is lost, so go on from the last checkpoint");
  SquaresOnDisk reads(folder, broken);
  EXPECT_ERROR(reads.gradient(), "activations: cannot read its file in ", "Input/output error, at byte ");
  EXPECT_ERROR(reads.gradient(), "Input/output error");  // from then on
  EXPECT_ERROR(SquaresOnDisk(folder, cut).gradient(), "it was cut off: it ends at byte ");
}

TEST(ActivationOffload, NeedsBlocks) {
  const SharedFolder folder;
  models::MinGpt model(spaces::one_d(one_worker()), {.layers = 2});
  const auto place = activations_on_disk(folder.path());
  EXPECT_ERROR(ActivationOffload(*model.parts()[0], place), "there is no block of a Repeated");
  EXPECT_ERROR(ActivationOffload(model, place, 0), "ActivationOffload of depth 0");
  EXPECT_ERROR(activations_on_disk("/proc"), "cannot make its file in \"/proc\": ", "choose another folder");
}

}  // namespace
}  // namespace riesz::testing
