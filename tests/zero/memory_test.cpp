// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What a worker allocates for a training's state, as the allocator sees it, is what it says it holds.
#include <c10/core/ScalarType.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "riesz/comm/communicator.h"
#include "riesz/comm/progress.h"
#include "riesz/comm/router_transport.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/adam.h"
#include "riesz/testing/memory_meter.h"
#include "training.h"

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

}  // namespace
}  // namespace riesz::testing
