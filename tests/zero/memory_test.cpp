// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker allocates for a training's state, as the allocator sees it, is what it says it holds.
#include <c10/core/ScalarType.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "layers.h"
#include "riesz/comm/communicator.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/runtime.h"
#include "riesz/comm/transports/router.h"
#include "riesz/optim/adam.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/memory_meter.h"
#include "training.h"
#include "turns.h"

namespace riesz::testing {
namespace {

/// While it lives all goes by MPI, from memory that the meter sees; windows it would not.
class WithoutWindows {
 public:
  WithoutWindows()
      : before_(
            swapped(std::make_unique<Communicator>(make_transport({.way = TransportSettings::Way::mpi})))) {}
  ~WithoutWindows() { swapped(std::move(before_)); }
  WithoutWindows(const WithoutWindows&) = delete;
  WithoutWindows& operator=(const WithoutWindows&) = delete;

 private:
  static std::unique_ptr<Communicator> swapped(std::unique_ptr<Communicator> next) {
    finish_background();
    return set_world_communicator(std::move(next));
  }

  std::unique_ptr<Communicator> before_;
};

/// What is alive after two steps, of all that was made since before the model had values.
void expect_held(int stage, at::ScalarType type) {
  Course course{.type = type};
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}, {"tp", 1}});
  models::MinGpt model(spaces::one_d(mesh), course.config);
  finish_background();  // what it holds of runs before goes
  const MemoryMeter meter;
  model.initialise(7, type);
  Zero zero(model.parameters(), {.stage = stage, .keep = 0});
  AdamW optimizer(zero.store());
  for (int step = 0; step < 2; ++step) {
    accumulate(course, model, &zero, step);
    optimizer.step();
    optimizer.zero_gradients();
  }
  zero.store()->shares();  // waits for what is gathered
  finish_background();
  const Holdings held = zero.holdings();
  const std::int64_t gathered = held.gathered;  // for a use; none is under way now
  EXPECT_EQ(MemoryMeter::alive(),
            held.parameters + held.gradients + held.masters + held.passing - gathered + optimizer.bytes());
}

/// A model is drawn as it is taken over: never more is alive than what is held then, and two units.
TEST(ZeroMemory, IsTakenOverUnitByUnit) {
  const WithoutWindows by_mpi;
  for (const int stage : {0, 1, 2, 3}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " in " << type);
      Course course{.type = type};
      models::MinGpt model(spaces::one_d(data_parallel()), course.config);
      finish_background();
      const MemoryMeter meter;
      model.initialise(7, type);
      const Zero zero(model.parameters(), {.stage = stage, .keep = 0});
      const Holdings held = zero.holdings();
      const std::int64_t all = held.parameters + held.gradients + held.masters + held.passing - held.gathered;
      const std::int64_t block = 4 * course.config.width * (course.config.width + 1) +
                                 course.config.hidden * (2 * course.config.width + 1) +
                                 5 * course.config.width;
      const std::int64_t unit = block * static_cast<std::int64_t>(c10::elementSize(type));
      EXPECT_EQ(MemoryMeter::alive(), all);
      // What is drawn is fp64, a parameter or a part of one at a time.
      const std::int64_t drawn = 8 * course.config.hidden * course.config.width;
      EXPECT_LE(MemoryMeter::peak(), all + std::max(unit, drawn) + unit);
    }
  }
}

TEST(ZeroMemory, IsWhatIsSaidToBeHeld) {
  const WithoutWindows by_mpi;
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    for (const int stage : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " in " << type);
      expect_held(stage, type);
    }
  }
}

/// Two segments of min(n, ZeroOptions::segment, max(d/8, min(2^16, d/2))) elements, where d elements are
/// saved.
TEST(ZeroMemory, OfSegmentsIsTheirFormula) {
  if (Runtime::size() == 1) return;
  const auto passing = [](std::int64_t n, const ZeroOptions& options) {
    Parameter w("w", Space(data_parallel(), {n}), {Initial::ones()});
    w.initialise(1, at::kFloat);
    return Zero({w}, options).holdings().passing;
  };
  const auto saved = [](std::int64_t n) { return n - (n + Runtime::size() - 1) / Runtime::size(); };
  const std::int64_t small = 100'003, middle = 300'000, large = (1 << 21) + 1;
  EXPECT_EQ(passing(small, {.stage = 2}), 2 * 4 * std::min<std::int64_t>(saved(small) / 2, 1 << 16));
  EXPECT_EQ(passing(middle, {.stage = 2}), 2 * 4 * (1 << 16));
  EXPECT_EQ(passing(large, {.stage = 2}), 2 * 4 * (saved(large) / 8));
  EXPECT_EQ(passing(large, {.stage = 2, .segment = 70'001}), 2 * 4 * 70'001);
}

/// Elements of gradients that this worker has brought and not reduced, at their most, in a step of `passes`
/// in which the other workers are late.
std::int64_t most_waiting(Zero& zero, Layers& layers, std::int64_t passes) {
  constexpr std::int64_t unit = kWidth * (kWidth + 1);
  const std::int64_t of_a_round = unit - Split::balanced(unit, Runtime::size())[Runtime::rank()].size();
  std::int64_t most = 0;
  Counters::instance().record(true);
  for (std::int64_t i = 0; i < passes; ++i) {
    if (Runtime::rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(i == 0 ? 100 : 2));
    zero.begin(i, passes);
    Chain chain;
    const Vector y = layers.c(layers.b(layers.a(input(layers))));
    backward(y, gradient_at(y, 0, {}, false));
    std::int64_t sent = 0;
    for (const TrafficRecord& record : Counters::instance().records())
      if (record.operation.starts_with("ReduceScatter of ")) sent += record.traffic.elements;
    most = std::max(most, 3 * unit * (i + 1) - sent / of_a_round * unit);
  }
  Counters::instance().record(false);
  return most;
}

/// In stage 2 a worker that is ahead of others waits for them, once so many elements of its gradients do. Two
/// units more may be in the buffers through which they pass.
TEST(ZeroMemory, OfGradientsInWaitingIsBounded) {
  if (Runtime::size() == 1) return;
  constexpr std::int64_t unit = kWidth * (kWidth + 1), passes = 8;
  for (const std::int64_t waiting : {std::int64_t{0}, unit, std::int64_t{1} << 22}) {
    SCOPED_TRACE(waiting);
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = 2, .bucket = 1, .waiting = waiting});
    const std::int64_t at_most = std::min(waiting, 3 * unit);  // not more than one pass's
    EXPECT_EQ(zero.holdings().waiting, 8 * at_most);
    const std::int64_t most = most_waiting(zero, layers, passes);
    EXPECT_LE(most, at_most + 2 * unit);
    EXPECT_TRUE(Runtime::rank() > 0 || most >= at_most) << most;
    zero.store()->zero_gradients();
  }
  {
    Layers layers(all_workers());
    Zero zero(layers.parameters(), {.stage = 2, .bucket = 1});
    EXPECT_EQ(zero.holdings().waiting, 0);
    const std::int64_t most = most_waiting(zero, layers, passes);
    EXPECT_TRUE(Runtime::rank() > 0 || most > 5 * unit) << "others are not late: " << most;
    zero.store()->zero_gradients();
  }
  Layers layers(all_workers());
  EXPECT_ERROR(Zero(layers.parameters(), {.stage = 2, .waiting = -1}), "-1 elements of gradients may wait",
               "ZeroOptions::waiting");
  for (const int stage : {0, 1, 3}) {
    Layers others(all_workers());
    EXPECT_EQ(Zero(others.parameters(), {.stage = stage, .waiting = unit}).holdings().waiting, 0);
  }
}

/// Bytes of gradients that lie whole after backward, until the step takes them.
std::int64_t held_up_by(const Program& program) {
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 3, .keep = 0});
  program(layers, 0);  // what is made once
  zero.store()->zero_gradients();
  const MemoryMeter meter;
  program(layers, 1);
  finish_background();
  const std::int64_t before = MemoryMeter::alive();
  zero.store()->shares();
  return before - MemoryMeter::alive();
}

/// So a part that steps leave out is built before the others.
TEST(ZeroMemory, AUnitThatIsLeftOutHoldsUpThoseBeforeItAlone) {
  if (Runtime::size() == 1) return;
  const WithoutWindows by_mpi;
  const auto with = [](const auto& forward) {
    return held_up_by([forward](Layers& l, int) {
      Chain chain;
      backward(loss_of(forward(l, input(l))));
    });
  };
  const std::int64_t of_layer = 8 * kWidth * (kWidth + 1);
  EXPECT_EQ(with([](Layers& l, const Vector& x) { return l.c(l.b(x)); }), 0);
  EXPECT_EQ(with([](Layers& l, const Vector& x) { return l.c(l.a(x)); }), of_layer);
  EXPECT_EQ(with([](Layers& l, const Vector& x) { return l.b(l.a(x)); }), 2 * of_layer);
}

}  // namespace
}  // namespace riesz::testing
