// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// What the stages move and hold, exactly; and their bits.
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/Allocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/sgd.h"
#include "riesz/partition/split.h"
#include "riesz/testing/error.h"
#include "training.h"

namespace riesz::testing {
namespace {

std::unique_ptr<Optimizer> plain_descent(std::shared_ptr<Store> store) {
  return std::make_unique<SGD>(std::move(store), SGDOptions{.learning_rate = 0.1});
}

/// Sums are in rank order, so the bits are those of one operator for each parameter.
TEST(Zero, SumsAsOneOperatorForEachParameterDoes) {
  const Partition mesh = data_parallel();
  for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
    Course course{.optimizer = plain_descent, .type = type};
    const Layout spaces = spaces::one_d(mesh);
    for (const std::int64_t micro_batches : {1, 3}) {
      course.micro_batches = micro_batches;
      course.zero.reset();
      const TrainingRun reference = train(course, spaces);
      for (const int stage : {0, 1, 2, 3}) {
        if (micro_batches > 1 && stage < 2) continue;  // these reduce once a step
        SCOPED_TRACE("stage " + std::to_string(stage));
        // A table of 1455 elements passes in segments, others in one.
        course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .segment = type == at::kFloat ? 500 : 3000};
        expect_same_bits(train(course, spaces), reference);
      }
    }
  }
}

/// A model on dp workers, taken over, whose steps are counted.
struct Counted {
  Course course;
  models::MinGpt model;
  Zero zero;
  std::unique_ptr<Optimizer> optimizer;

  Counted(const Course& chosen, const ZeroOptions& options)
      : course(chosen),
        model(spaces::one_d(data_parallel()), course.config),
        zero(initialised(model, course.type).parameters(), options),
        optimizer(course.optimizer(zero.store())) {}

  static models::MinGpt& initialised(models::MinGpt& model, at::ScalarType type) {
    model.initialise(7, type);
    return model;
  }

  std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Parameter& parameter : model.parameters()) sum += parameter.numel();
    return sum;
  }

  /// Elements that left this worker in the second step, when the order of units is known, by what moved them
  /// ("AllReduce of").
  std::map<std::string, std::int64_t> step() {
    for (int step = 0; step < 2; ++step) {
      Counters::instance().record(true);
      accumulate(course, model, &zero, step);
      optimizer->step();
      optimizer->zero_gradients();
      zero.store()->shares();  // waits for what the step began
    }
    std::map<std::string, std::int64_t> sent;
    for (const TrafficRecord& record : Counters::instance().records()) {
      const std::size_t of = record.operation.find(" of ");
      if (of != std::string::npos) sent[record.operation.substr(0, of)] += record.traffic.elements;
    }
    Counters::instance().record(false);
    return sent;
  }
};

std::int64_t piece(std::int64_t elements) {
  const Split split = Split::balanced(elements, Runtime::size());
  return split[Runtime::rank()].size();
}

TEST(Zero, SendsWhatTheFormulaSays) {
  const std::int64_t p = Runtime::size();
  for (const std::int64_t g : {1, 3}) {
    for (const int stage : {0, 1, 2}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << ", " << g << " micro-batches");
      Counted run({.micro_batches = g, .optimizer = plain_descent}, {.stage = stage, .bucket = 1 << 30});
      const std::int64_t n = run.elements();
      const std::int64_t mine = piece(n);
      auto sent = run.step();
      EXPECT_EQ(sent["AllReduce"], stage == 0 ? n - mine + (p - 1) * mine : 0);
      EXPECT_EQ(sent["ReduceScatter"], stage == 0 ? 0 : (stage == 2 ? g : 1) * (n - mine));
      EXPECT_EQ(sent["AllGather"], stage == 0 ? 0 : (p - 1) * mine);
    }
  }
}

/// Elements of the units of stage 3, in order: token and position tables, two blocks, the last norm, the
/// output layer.
std::vector<std::int64_t> units(const models::MinGptConfig& c) {
  const std::int64_t block = (3 * c.width + c.width + 2 * c.hidden) * c.width + 9 * c.width + c.hidden;
  return {c.vocabulary * c.width, c.context * c.width, block, block, 2 * c.width, c.vocabulary * c.width};
}

TEST(Zero, GathersEachUnitBeforeItsUses) {
  const std::int64_t p = Runtime::size();
  for (const std::int64_t g : {1, 3}) {
    for (const int prefetch : {0, 1}) {
      SCOPED_TRACE(::testing::Message() << g << " micro-batches, " << prefetch << " ahead");
      Counted run({.micro_batches = g, .optimizer = plain_descent},
                  {.stage = 3, .keep = 0, .prefetch = prefetch});
      std::int64_t gathered = 0, reduced = 0;
      const auto all = units(run.course.config);
      for (std::size_t u = 0; u < all.size(); ++u) {
        // The last unit is there when backward begins; the first, when the next micro-batch does. One ahead
        // is there when its turn comes, so the last but one is not let go before either.
        const std::int64_t times = u + 1 == all.size() ? g : (u == 0 ? g + 1 : 2 * g);
        gathered += times * (p - 1) * piece(all[u]);
        reduced += g * (all[u] - piece(all[u]));
      }
      auto sent = run.step();
      EXPECT_EQ(sent["AllGather"], gathered);
      EXPECT_EQ(sent["ReduceScatter"], reduced);
    }
  }
}

/// What is kept is gathered once a step.
TEST(Zero, KeepsSmallUnits) {
  Counted run({.micro_batches = 3, .optimizer = plain_descent}, {.stage = 3, .keep = 1 << 20});
  auto sent = run.step();
  std::int64_t gathered = 0;
  for (const std::int64_t n : units(run.course.config)) gathered += (Runtime::size() - 1) * piece(n);
  EXPECT_EQ(sent["AllGather"], gathered);
}

TEST(Zero, HoldsWhatTheFormulaSays) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const std::int64_t half = type == at::kBFloat16 ? 1 : 0;
    const std::int64_t bytes = half != 0 ? 2 : 4;
    for (const int stage : {0, 1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << (half != 0 ? ", bf16" : ", fp32"));
      const MakeOptimizer adam = [](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
        return std::make_unique<AdamW>(std::move(store));
      };
      Counted run({.optimizer = adam, .type = type}, {.stage = stage, .bucket = 1 << 30});
      run.step();
      std::int64_t all = run.elements(), mine = piece(all);
      if (stage == 3) {
        mine = 0;
        for (const std::int64_t n : units(run.course.config)) mine += piece(n);
      }
      const Holdings held = run.zero.holdings();
      EXPECT_EQ(held.parameters, bytes * (stage == 3 ? mine : all));
      EXPECT_EQ(held.gradients, 4 * (stage >= 2 ? mine : all));
      EXPECT_EQ(held.masters, half * 4 * (stage >= 1 ? mine : all));
      EXPECT_EQ(run.optimizer->bytes(), 8 * (stage >= 1 ? mine : all));
    }
  }
}

/// In halves too: sums are fp32 in rank order, and masters are trained element by element.
TEST(Zero, TrainsTheSameBitsAtEveryStage) {
  const MakeOptimizer adam = [](std::shared_ptr<Store> store) -> std::unique_ptr<Optimizer> {
    return std::make_unique<AdamW>(std::move(store));
  };
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    Course course{.optimizer = adam, .type = type};
    const Layout spaces = spaces::one_d(data_parallel());
    course.zero = ZeroOptions{.stage = 0};
    const TrainingRun reference = train(course, spaces);
    for (const int stage : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << " in " << type);
      course.zero = ZeroOptions{.stage = stage, .bucket = 3000, .keep = 50};
      expect_same_bits(train(course, spaces), reference);
    }
  }
}

/// What is kept is held beside what is gathered for a use.
TEST(Zero, HoldsWhatItKeeps) {
  if (Runtime::size() == 1) return;
  for (const std::int64_t keep : {0, 100, 1 << 20}) {
    Counted run({.optimizer = plain_descent}, {.stage = 3, .keep = keep});
    const auto all = units(run.course.config);
    std::int64_t kept = 0, largest = 0, most = 0, padding = 0, others = 0;
    for (const std::int64_t n : all) {
      const std::int64_t biggest = (n + Runtime::size() - 1) / Runtime::size();
      padding += biggest - piece(n);
      others += n - biggest;
      largest = std::max(largest, n);
      (n <= keep ? kept : most) = n <= keep ? kept + n : std::max(most, n);
    }
    const std::int64_t segment = std::min(largest, others / 2);
    EXPECT_EQ(run.zero.holdings().passing, 8 * (2 * segment + kept + 2 * most + padding)) << keep;
    std::vector<at::Tensor> leaves;
    for (const Parameter& parameter : run.model.parameters()) {
      const at::NoGradGuard no_gradient;
      leaves.push_back(parameter.value().local());
    }
    accumulate(run.course, run.model, &run.zero, 0);
    std::map<const void*, std::int64_t> gathered;
    for (const at::Tensor& leaf : leaves) {
      const auto& memory = leaf.storage();
      gathered[memory.unsafeGetStorageImpl()] = static_cast<std::int64_t>(memory.nbytes());
    }
    std::int64_t now = 0;
    for (const auto& [storage, bytes] : gathered) now += bytes;
    EXPECT_LE(now, 8 * (kept + 2 * most)) << keep;
  }
}

/// However large a unit and its segments are.
TEST(Zero, HoldsNoMoreInAHigherStage) {
  if (Runtime::size() == 1) return;
  for (const std::int64_t bucket : {1, 3000, 1 << 30}) {
    std::int64_t before = 0;
    for (const int stage : {0, 1, 2}) {
      Course course{.optimizer = plain_descent, .type = at::kBFloat16};
      Counted run(course, {.stage = stage, .bucket = bucket});
      const Holdings held = run.zero.holdings();
      const std::int64_t all = held.parameters + held.gradients + held.masters + held.passing;
      EXPECT_TRUE(stage == 0 || all <= before) << "stage " << stage << ", " << bucket;
      before = all;
    }
  }
}

/// Also of a step without a backward.
TEST(Zero, LeavesAGradientAsItWasChanged) {
  for (const int stage : {0, 1, 2, 3}) {
    Course course{.optimizer = plain_descent};
    models::MinGpt model(spaces::one_d(data_parallel()), course.config);
    model.initialise(7, at::kDouble);
    Zero zero(model.parameters(), {.stage = stage});
    const auto optimizer = plain_descent(zero.store());
    std::vector<at::Tensor> before;
    for (const Share& share : zero.store()->shares()) {
      EXPECT_TRUE(at::equal(share.gradient, at::zeros_like(share.gradient))) << share.parameter.name();
      share.gradient.fill_(2);
      before.push_back(share.value.clone());
    }
    optimizer->step();
    const std::vector<Share> after = zero.store()->shares();
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_TRUE(at::equal(after[i].value, before[i].sub(0.2))) << after[i].parameter.name() << stage;
    zero.store()->zero_gradients();
    for (const Share& share : zero.store()->shares())
      EXPECT_TRUE(at::equal(share.gradient, at::zeros_like(share.gradient))) << share.parameter.name();
  }
}

TEST(Zero, SaysWhatIsWrong) {
  Course course{.optimizer = plain_descent};
  models::MinGpt model(spaces::one_d(data_parallel()), course.config);
  EXPECT_ERROR(Zero(model.parameters(), {}), "transformer.wte.weight", "has no value yet");
  model.initialise(7, at::kDouble);
  EXPECT_ERROR(Zero(model.parameters(), {.stage = 4}), "stage 4", "0 (data parallel), 1, 2 and 3");
  EXPECT_ERROR(Zero(std::vector<Parameter>{}, {}), "no parameters");
  Parameter numbers("count", Space(data_parallel(), {3}), {Initial::ones()});
  numbers.initialise(7, at::kLong);
  EXPECT_ERROR(Zero({numbers}, {.stage = 3}), "Zero: count is of type Long", "fp64, fp32, bf16 or fp16");
  Parameter copies("scale", Space(data_parallel(), {3}).copied("dp"), {Initial::ones()});
  copies.initialise(7, at::kDouble);
  if (Runtime::size() > 1) {
    EXPECT_ERROR(Zero({copies}, {}), "scale is Copied on axis dp", "Sharded or Replicated on each axis");
  }
  {
    Zero zero(model.parameters(), {.stage = 2});
    EXPECT_ERROR(Zero(model.parameters(), {}), "is kept by another already");
    EXPECT_ERROR(model.initialise(7, at::kDouble), "initialise the model before");
    EXPECT_ERROR(zero.begin(3, 3), "pass 3 of 3");
    EXPECT_ERROR(zero.set_reducing(false), "stage 2", "stages 0 and 1");
    EXPECT_ERROR(AdamW(model.parameters()), "transformer.wte.weight is kept by riesz::Zero",
                 "AdamW(zero.store())");
  }
  EXPECT_ERROR(model.parameters().front().value(), "what kept its value (riesz::Zero) is gone");
}

TEST(Zero, TakesNothingFromAnOptimizerInSilence) {
  Course course{.optimizer = plain_descent};
  models::MinGpt model(spaces::one_d(data_parallel()), course.config);
  model.initialise(7, at::kDouble);
  AdamW before(model.parameters());
  const Zero zero(model.parameters(), {});
  EXPECT_ERROR(before.step(), "transformer.wte.weight is kept by riesz::Zero", "AdamW(zero.store())");
}

/// Does something in the midst of what allocates next.
class Amid final : public c10::Allocator {
 public:
  explicit Amid(std::function<void()> once) : once_(std::move(once)) {
    c10::SetAllocator(c10::kCPU, this, 1);
  }
  ~Amid() override { c10::SetAllocator(c10::kCPU, usual_, 1); }
  c10::DataPtr allocate(std::size_t bytes) override {
    if (const auto once = std::exchange(once_, nullptr)) once();
    return usual_->allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override { return usual_->raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    usual_->copy_data(to, from, bytes);
  }

 private:
  std::function<void()> once_;
  c10::Allocator* usual_ = c10::GetAllocator(c10::kCPU);
};

TEST(Zero, IsMadeOnOneThreadAtATime) {
  Parameter w("w", Space(data_parallel(), {12}), {Initial::ones()});
  w.initialise(1, at::kFloat);
  bool tried = false;
  const auto another = [&] { EXPECT_ERROR(Zero({w}, {}), "another is being made", "one after the other"); };
  const Amid amid([&] {
    tried = true;
    std::thread(another).join();
  });
  const Zero zero({w}, {});
  EXPECT_TRUE(tried);
}

TEST(Zero, SumsOverAxesThatThereAre) {
  const auto placed = [](const std::vector<Axis>& axes) {
    Parameter w("w", Space(Partition::world().grid(axes), {12}), {Initial::ones()});
    w.initialise(1, at::kFloat);
    return w;
  };
  const int p = Runtime::size();
  const Parameter on_data = placed({{"data", p}, {"tp", 1}});
  EXPECT_ERROR(Zero({on_data}, {.stage = 1}), "has no axis dp, ep or sp", "(data=", "ZeroOptions::axes");
  EXPECT_ERROR(Zero({on_data}, {.axes = {"data", "dp"}}), "there is no axis dp on the grid (data=");
  const Zero named({on_data}, {.stage = 3, .axes = {"data"}});
  EXPECT_EQ(named.holdings().parameters, 4 * piece(12));
  const Zero sequences({placed({{"sp", p}})}, {.stage = 3});
  EXPECT_EQ(sequences.holdings().parameters, 4 * piece(12));
}

/// The gradients that the optimizer takes, not copies of them.
TEST(Zero, ClipsWhatIsTrained) {
  for (const int stage : {0, 1, 2, 3}) {
    Course course{.optimizer = plain_descent};
    models::MinGpt model(spaces::one_d(data_parallel()), course.config);
    model.initialise(7, at::kDouble);
    Zero zero(model.parameters(), {.stage = stage});
    const auto optimizer = plain_descent(zero.store());
    accumulate(course, model, &zero, 0);
    const double norm = clip_gradients(*zero.store(), 1e9);
    EXPECT_GT(norm, 0.1);
    EXPECT_EQ(clip_gradients(*zero.store(), norm / 8), norm);
    EXPECT_NEAR(clip_gradients(*zero.store(), 1e9), norm / 8, 1e-13);
    optimizer->step();
    optimizer->zero_gradients();
  }
}

/// Backward after backward without a word in between would add to sums that are made already.
TEST(Zero, WantsToKnowOfMicroBatches) {
  if (Runtime::size() == 1) return;
  Course course{.optimizer = plain_descent};
  models::MinGpt model(spaces::one_d(data_parallel()), course.config);
  model.initialise(7, at::kDouble);
  Zero zero(model.parameters(), {.stage = 1});
  accumulate(course, model, nullptr, 0);
  EXPECT_ERROR(accumulate(course, model, nullptr, 1), "backward comes to", "reduced already", "begin(i, of)");
  zero.store()->zero_gradients();
}

}  // namespace
}  // namespace riesz::testing
