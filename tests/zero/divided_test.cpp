// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// Two optimizers share a Zero: each steps its parameters as it does alone, wherever the state lies.
#include "riesz/optim/divided.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layers.h"
#include "riesz/comm/counters.h"
#include "riesz/comm/runtime.h"
#include "riesz/io/disk/disk_place.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/clip.h"
#include "riesz/optim/lamb.h"
#include "riesz/partition/split.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "training.h"

namespace riesz::testing {
namespace {

/// LAMB for the weights, AdamW for the biases.
struct Two {
  explicit Two(const std::shared_ptr<Store>& store)
      : stores(divided(store, {matrices()})),
        both(several(stores)),
        of_weights(stores[0], {.learning_rate = 0.01}),
        of_biases(stores[1], {.learning_rate = 0.02}) {}

  void step() {
    of_weights.step();
    of_biases.step();
    of_weights.zero_gradients();
    of_biases.zero_gradients();
  }

  State state() {
    State all = of_weights.state();
    for (StateView& view : of_biases.state()) all.push_back(std::move(view));
    return all;
  }

  std::vector<std::shared_ptr<Store>> stores;
  std::shared_ptr<Store> both;
  Lamb of_weights;
  AdamW of_biases;
};

void go_back(Layers& layers) {
  Chain chain;
  backward(loss_of(layers.c(layers.b(layers.a(input(layers))))));
}

struct Result {
  TrainingRun run;
  std::vector<double> norms;
};

/// `saved`: after two steps another pair goes on from the state of the first.
Result trained(const Partition& mesh, const ZeroOptions* options, bool saved = false) {
  Layers layers(mesh);
  Result result;
  result.run.add_initial(layers);
  std::optional<Zero> zero;
  if (options != nullptr) zero.emplace(layers.parameters(), *options);
  const std::shared_ptr<Store> store = zero ? zero->store() : whole(layers.parameters());
  auto two = std::make_unique<Two>(store);
  for (int step = 0; step < 4; ++step) {
    if (saved && step == 2) {
      auto then = std::make_unique<Two>(store);
      SavedState(mesh, two->state()).load(then->state());
      two = std::move(then);
    }
    go_back(layers);
    result.norms.push_back(clip_gradients(*two->both, 3));
    two->step();
  }
  result.run.add_weights(layers);
  return result;
}

TEST(Divided, AreSteppedByTwoOptimizers) {
  const Result reference = trained(alone(), nullptr);
  for (const int stage : {0, 1, 2, 3}) {
    for (const bool saved : {false, true}) {
      SCOPED_TRACE(::testing::Message() << "stage " << stage << (saved ? ", loaded" : ""));
      const ZeroOptions options{.stage = stage, .bucket = 40, .keep = 0};
      const Result result = trained(all_workers(), &options, saved);
      EXPECT_TRUE(compare_runs(result.run, reference.run));
      for (std::size_t i = 0; i < result.norms.size(); ++i)
        EXPECT_NEAR(result.norms[i], reference.norms[i], 1e-12 * reference.norms[i]);
    }
  }
}

/// The weights' optimizer does to the weights what it does where another group of it has the biases.
TEST(Divided, HaveTheBitsOfOneOptimizer) {
  for (const int stage : {0, 1, 2, 3}) {
    SCOPED_TRACE(stage);
    std::vector<at::Tensor> values[2];
    for (const bool two : {false, true}) {
      Layers layers(all_workers(), at::kBFloat16);
      Zero zero(layers.parameters(), {.stage = stage, .bucket = 40, .keep = 0});
      const std::vector<std::shared_ptr<Store>> stores = divided(zero.store(), {matrices()});
      std::vector<std::unique_ptr<Optimizer>> optimizers;
      if (two) {
        optimizers.push_back(std::make_unique<AdamW>(stores[0], AdamWOptions{.learning_rate = 0.02}));
        optimizers.push_back(std::make_unique<AdamW>(stores[1], AdamWOptions{.learning_rate = 0.01}));
      } else {
        optimizers.push_back(
            std::make_unique<AdamW>(zero.store(), AdamWOptions{.learning_rate = 0.01},
                                    std::vector<Group>{{.has = matrices(), .learning_rate_scale = 2}}));
      }
      for (int step = 0; step < 3; ++step) {
        go_back(layers);
        for (const auto& optimizer : optimizers) optimizer->step();
        for (const auto& optimizer : optimizers) optimizer->zero_gradients();
      }
      const at::NoGradGuard no_gradient;
      for (const Parameter& parameter : layers.parameters())
        values[two ? 1 : 0].push_back(parameter.get().local().clone());
    }
    for (std::size_t k = 0; k < values[0].size(); ++k) EXPECT_SAME_BITS(values[1][k], values[0][k]);
  }
}

/// Gradients stay until each was asked to let them go, and a bucket that both have is spread for each.
TEST(Divided, ShareGradientsAndBuckets) {
  Layers layers(all_workers());
  Zero zero(layers.parameters(), {.stage = 1});
  const std::vector<std::shared_ptr<Store>> stores = divided(zero.store(), {matrices()});
  Lamb of_weights(stores[0], {.learning_rate = 0.01});
  AdamW of_biases(stores[1], {.learning_rate = 0.02});
  go_back(layers);
  Counters::instance().record(true);
  of_weights.step();
  of_weights.zero_gradients();
  for (const Share& share : stores[1]->shares())
    EXPECT_TRUE(share.gradient.numel() == 0 || share.gradient.ne(0).any().item<bool>());
  of_biases.step();
  zero.store()->shares();  // waits for what is gathered
  std::int64_t gathered = 0;
  for (const TrafficRecord& record : Counters::instance().records())
    if (record.operation.starts_with("AllGather of ")) gathered += record.traffic.elements;
  Counters::instance().record(false);
  const std::int64_t mine =
      Split::balanced(3 * kWidth * (kWidth + 1), Runtime::size())[Runtime::rank()].size();
  EXPECT_EQ(gathered, 2 * (Runtime::size() - 1) * mine);
  of_biases.zero_gradients();
  for (const Share& share : zero.store()->shares()) EXPECT_TRUE(share.gradient.eq(0).all().item<bool>());

  std::set<std::string> names;
  for (const Share& share : stores[1]->shares()) names.insert(share.parameter.name());
  EXPECT_EQ(names, (std::set<std::string>{"a.bias", "b.bias", "c.bias"}));
}

TEST(Divided, SayWhatIsWrong) {
  Layers one(all_workers()), other(all_workers());
  const auto store = whole(one.parameters());
  EXPECT_ERROR(divided(store, {}), "divided: among no groups", "{matrices()}");
  EXPECT_ERROR(divided(store, {matrices(), matrices()}), "group 1 has none of the store's 6 parameters",
               "leave it out");
  const auto all = divided(store, {[](const Parameter&) { return true; }});
  EXPECT_TRUE(all[1]->shares().empty());
  EXPECT_EQ(all[1]->parts(), 0U);
  const auto models = several({whole(one.parameters()), whole(other.parameters())});
  const auto of_models = divided(models, {among(one.parameters())});
  EXPECT_EQ(of_models[0]->shares().size(), 6U);
  EXPECT_EQ(of_models[1]->shares().size(), 6U);
  EXPECT_ERROR(of_models[0]->state(), "parameters named a.bias are in two of the stores", "by their names");
  of_models[0]->zero_gradients();
  EXPECT_ERROR(of_models[0]->zero_gradients(), "the gradients of store 0 are let go twice",
               "call zero_gradients of each store once a step");
  of_models[1]->zero_gradients();
  EXPECT_NO_THROW(of_models[0]->zero_gradients());
  store->keep_state_in(disk_place("/tmp"), LiesThere::state_and_masters);
  EXPECT_ERROR(divided(store, {matrices()}),
               "divided: the masters of a store that is divided stay in memory");
}

}  // namespace
}  // namespace riesz::testing
