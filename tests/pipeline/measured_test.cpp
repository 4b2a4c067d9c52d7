// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/pipeline/partitioner/measured.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "riesz/comm/runtime.h"
#include "riesz/models/min_gpt.h"
#include "riesz/nn/loss/loss.h"
#include "riesz/primitives/all_max.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/memory_meter.h"

namespace riesz::testing {
namespace {

void sleep_for(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

/// x → x, which takes some time forward, and some backward.
class Sleeper : public Layer<Sleeper> {
 public:
  Sleeper(OwnerAndName place, int forward, int backward)
      : Layer(std::move(place)), forward_(forward), backward_(backward) {}

  Vector forward(const Vector& x) {
    sleep_for(forward_);
    Chain::current()->on_backward([this] { sleep_for(backward_); });
    return x;
  }
  std::string describe() const override { return "Sleeper"; }

 private:
  int forward_, backward_;
};

/// One after another, and some time of its own.
class Night : public Layer<Night> {
 public:
  Night() : Layer("night") {}
  Vector forward(const Vector& x) {
    const Vector y = first_(x);
    sleep_for(10);
    Chain::current()->on_backward([] { sleep_for(20); });
    return second_(y);
  }
  std::string describe() const override { return "Night"; }

 private:
  // The first worker's second sleeps longest.
  Sleeper first_{{*this, "first"}, 20, 40};
  Sleeper second_{{*this, "second"}, Runtime::rank() == 0 ? 60 : 0, 0};
};

TEST(Measured, TimesEachModuleByItself) {
  const Partition world = Partition::world();
  Night night;
  const Vector x(Space(world, {2}), at::arange(2, at::kDouble).requires_grad_());
  const Vector ybar(dual(x.space()), at::ones({2}, at::kDouble));
  const auto begin = std::chrono::steady_clock::now();
  const CostTree tree = measured(night,
                                 [&] {
                                   Chain chain;
                                   backward(night(x), ybar);
                                 },
                                 world, {.warm_up = 0, .repeats = 1});
  const double own = tree.own.time, first = tree.children[0].own.time, second = tree.children[1].own.time;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(own, 0.030);
  EXPECT_GE(first, 0.060);
  EXPECT_GE(second, 0.060);
  if (Runtime::size() == 1) {  // else they are the longest of several workers
    EXPECT_LE(own + first + second, passed.count());
  }
}

TEST(Measured, TellsAllWorkersTheSameAndChangesNothing) {
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  const models::MinGptConfig config{
      .layers = 2, .heads = 3, .width = 15, .vocabulary = 97, .context = 8, .dropout = 0.1};
  models::MinGpt model(spaces::one_d(mesh), config);
  model.initialise(1, at::kDouble);
  const Vector ids = distribute(model.tokens().with_shape({3, 8}), at::arange(24, at::kLong).view({3, 8}));
  const Vector next =
      distribute(model.targets().with_shape({3, 8}), at::arange(1, 25, at::kLong).view({3, 8}));
  const auto micro_batch = [&] {
    const ContextScope context({.training = true, .seed = 1});
    Chain chain;
    backward(cross_entropy(model(ids), next).mean());
  };
  const auto gradients = [&](const std::function<void()>& run) {
    for (Parameter& parameter : model.parameters()) parameter.zero_gradient();
    run();
    std::vector<at::Tensor> all;
    for (const Parameter& parameter : model.parameters()) all.push_back(parameter.gradient().local().clone());
    return all;
  };

  CostTree tree;
  const auto plain = gradients(micro_batch);
  const auto watched =
      gradients([&] { tree = measured(model, micro_batch, mesh, {.warm_up = 0, .repeats = 1}); });
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_TRUE(at::equal(plain[i], watched[i]));

  for (const Block& block : blocks(tree)) {
    EXPECT_GT(block.cost.time, 0) << block.path;
    const at::Tensor time = at::full({1}, block.cost.time, at::kDouble);
    EXPECT_TRUE(at::equal(time, all_max(mesh, {"dp"}, time))) << block.path;
  }
  for (const CostTree& part : tree.children[3].children[0].children)  // of the first block
    EXPECT_GT(total(part).time, 0) << part.path;
}

/// What is alive after forward, beside the result, is what modules keep. The ids they keep too are the
/// caller's: a view of the whole batch, whose memory it keeps.
TEST(Measured, CountsWhatIsKeptAndGiven) {
  constexpr std::int64_t B = 6, T = 8, C = 15, V = 97, bytes = 8;  // of a double, or a number
  const Partition mesh = Partition::world().grid({{"dp", Runtime::size()}});
  const models::MinGptConfig config{
      .layers = 2, .heads = 3, .width = C, .vocabulary = V, .context = T, .dropout = 0.1, .tied = true};
  models::MinGpt model(spaces::one_d(mesh), config);
  model.initialise(1, at::kDouble);
  const Vector ids = distribute(model.tokens().with_shape({B, T}), at::arange(B * T, at::kLong).view({B, T}));
  const ContextScope context({.training = true, .seed = 1});
  std::int64_t alive = 0;
  const auto micro_batch = [&] {
    Chain chain;
    const Vector y = model(ids);
    alive = MemoryMeter::alive();
    backward(y, Vector(dual(y.space()), at::ones_like(y.local())));
  };
  const CostTree tree = measured(model, micro_batch, mesh, {.warm_up = 1, .repeats = 1});
  {
    const MemoryMeter meter;
    micro_batch();
  }
  const std::int64_t rows = B / Runtime::size() * T;  // of this worker
  const std::int64_t stream = rows * C * bytes, logits = rows * V * bytes, positions = T * C * bytes;
  EXPECT_EQ(total(tree).activations, static_cast<double>(alive - logits + B * T * bytes));
  std::map<std::string, std::int64_t> given{{"lm_head", logits}, {"transformer.wpe", positions}};
  for (const Block& block : blocks(tree))
    EXPECT_EQ(block.output, static_cast<double>(given.emplace(block.path, stream).first->second))
        << block.path;
  const std::vector<Block> all = blocks(tree);
  EXPECT_EQ(all[3].cost.activations, all[4].cost.activations);  // the transformer's blocks
}

}  // namespace
}  // namespace riesz::testing
