// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/optimizer.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "layouts.h"
#include "own_terms.h"
#include "riesz/optim/adafactor.h"
#include "riesz/optim/adam.h"
#include "riesz/optim/lamb.h"
#include "riesz/optim/sgd.h"
#include "riesz/testing/error.h"
#include "riesz/testing/parts.h"
#include "riesz/testing/random.h"
#include "uneven_store.h"

namespace riesz::testing {
namespace {

/// A store of one flat value, cut into shares of the given sizes.
class Cut : public Store {
 public:
  Cut(const at::Tensor& value, const at::Tensor& gradient, std::vector<std::int64_t> sizes)
      : value_(value), gradient_(gradient), sizes_(std::move(sizes)), partition_(Partition::simulated(1)) {}

  std::vector<Share> shares() override {
    std::vector<Share> result;
    std::int64_t begin = 0;
    for (const std::int64_t n : sizes_) {
      const std::size_t i = result.size();
      if (i == parameters_.size())
        parameters_.emplace_back("w" + std::to_string(i), Space(partition_, {n}), ParameterOptions{});
      result.push_back({parameters_[i], 0, value_.narrow(0, begin, n), gradient_.narrow(0, begin, n)});
      begin += n;
    }
    return result;
  }
  void spread(std::size_t) override {}
  void zero_gradients() override {}
  Holds holds() const override { return Holds::whole; }
  const Partition& partition() const override { return partition_; }
  void cut(std::vector<std::int64_t> sizes) { sizes_ = std::move(sizes); }

 private:
  at::Tensor value_, gradient_;
  std::vector<std::int64_t> sizes_;
  Partition partition_;
  std::vector<Parameter> parameters_;
};

at::Tensor draws(std::int64_t n, std::uint64_t seed, at::ScalarType type) {
  return random_part(Space(Partition::simulated(1), {n}), 0, seed, true).to(type);
}

/// Values after some steps, cut in shares of the given sizes.
at::Tensor updated(const MakeOptimizer& make, const std::vector<std::int64_t>& sizes, std::int64_t n,
                   at::ScalarType type) {
  const at::Tensor value = draws(n, 1, type), gradient = at::zeros({n}, type);
  const auto optimizer = make(std::make_shared<Cut>(value, gradient, sizes));
  for (std::uint64_t step = 0; step < 4; ++step) {
    gradient.copy_(draws(n, 2 + step, type));
    optimizer->step();
  }
  return value;
}

TEST(Optimizer, GivesAnElementTheSameBitsWhereverItLies) {
  const std::vector<MakeOptimizer> makes{
      [](auto store) {
        return std::make_unique<SGD>(store, SGDOptions{.learning_rate = 0.1, .momentum = 0.87});
      },
      [](auto store) { return std::make_unique<SGD>(store, SGDOptions{.momentum = 0.87, .nesterov = true}); },
      [](auto store) { return std::make_unique<Adam>(store); },
      [](auto store) { return std::make_unique<AdamW>(store); }};
  for (const MakeOptimizer& make : makes) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const at::Tensor one = updated(make, {1000}, 1000, type);
      EXPECT_SAME_BITS(updated(make, {3, 0, 200, 1, 796}, 1000, type), one);
      for (const std::int64_t n : {1, 7, 17, 30, 63}) {
        EXPECT_SAME_BITS(updated(make, {n}, 1000, type).narrow(0, 0, n), one.narrow(0, 0, n));
      }
    }
  }
}

TEST(Optimizer, MakesOneOfNeighboursThatAreAlike) {
  const at::Tensor value = at::zeros({10}), gradient = at::zeros({10});
  Cut store(value, gradient, {2, 0, 3, 1, 4, 0});
  const StorePart all{0, 0, 6};
  const auto found = runs(store.shares(), all, [](auto i, auto j) { return (i < 3) == (j < 3); });

  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].first, 0U);
  EXPECT_EQ(found[0].last, 3U);
  EXPECT_EQ(found[0].value.numel(), 5);
  EXPECT_EQ(found[1].value.numel(), 5);
  EXPECT_EQ(found[1].gradient.const_data_ptr(), gradient.narrow(0, 5, 5).const_data_ptr());

  auto apart = store.shares();
  apart[2].gradient = apart[2].gradient.clone();
  EXPECT_EQ(runs(apart, all, [](std::size_t, std::size_t) { return true; }).size(), 3U);
}

TEST(Optimizer, GoesOnFromItsStates) {
  const std::vector<MakeOptimizer> makes{[](auto store) {
                                           return std::make_unique<SGD>(
                                               store, SGDOptions{.learning_rate = 0.1, .momentum = 0.9});
                                         },
                                         [](auto store) { return std::make_unique<AdamW>(store); },
                                         [](auto store) { return std::make_unique<Lamb>(store); },
                                         [](auto store) { return std::make_unique<Adafactor>(store); }};
  const Partition mesh = meshes().back();
  for (const MakeOptimizer& make : makes) {
    const auto parameters = some_parameters(mesh, at::kDouble);
    const auto store = uneven(parameters);
    const auto first = make(store);
    const auto train = [&](Optimizer& optimizer, std::uint64_t step) {
      give_gradients(parameters, step);
      optimizer.step();
      optimizer.zero_gradients();
    };
    for (std::uint64_t step = 0; step < 3; ++step) train(*first, step);
    const auto second = make(store);
    SavedState(mesh, first->state()).load(second->state());
    EXPECT_EQ(second->steps(), 3);
    std::vector<at::Tensor> starts, ends;
    for (const Share& share : store->shares()) starts.push_back(share.value.clone());
    train(*first, 3);
    for (const Share& share : store->shares()) ends.push_back(share.value.clone());
    auto shares = store->shares();
    for (std::size_t i = 0; i < shares.size(); ++i) shares[i].value.copy_(starts[i]);
    train(*second, 3);
    for (std::size_t i = 0; i < shares.size(); ++i) EXPECT_SAME_BITS(shares[i].value, ends[i]);
  }
}

TEST(Optimizer, CountsItsBytes) {
  const auto parameters = some_parameters(alone(), at::kFloat);
  std::int64_t n = 0;
  for (const Parameter& parameter : parameters) n += parameter.numel();
  EXPECT_EQ(SGD(parameters).bytes(), 0);
  EXPECT_EQ(SGD(parameters, {.momentum = 0.9}).bytes(), 4 * n);
  EXPECT_EQ(AdamW(parameters).bytes(), 8 * n);
  EXPECT_EQ(AdamW(parameters).kept().front().name, "matrix");
  EXPECT_TRUE(AdamW(parameters).wants_reduced_gradients());
}

TEST(Optimizer, GroupsHaveTheirOwnOptions) {
  const auto parameters = some_parameters(alone(), at::kDouble);
  const Group first{
      .has = among({parameters[0], parameters[3]}), .learning_rate_scale = 0.5, .weight_decay = 0.3};
  const Group second{.has = [](const Parameter&) { return true; }, .momentum = 0.5};
  const Setting general{0.1, 0.2, 0.9, 0.99};
  EXPECT_EQ(setting_of(parameters[0], general, {}), general);
  EXPECT_EQ(setting_of(parameters[3], general, {}), (Setting{0.1, 0, 0.9, 0.99}));  // a bias
  EXPECT_EQ(setting_of(parameters[3], general, {first, second}), (Setting{0.05, 0.3, 0.9, 0.99}));
  EXPECT_EQ(setting_of(parameters[1], general, {first, second}), (Setting{0.1, 0.2, 0.5, 0.99}));
}

/// Another model's parameters of the same names are in no group; copies of one weight are in the first one's.
TEST(Optimizer, GroupsTellParametersOfOneNameApart) {
  const auto first = some_parameters(alone(), at::kDouble), second = some_parameters(alone(), at::kDouble);
  const Setting general{0.1, 0.2, 0.9, 0.99};
  const Group of_first{.has = among(first), .learning_rate_scale = 0};
  EXPECT_EQ(setting_of(first[0], general, {of_first}).learning_rate, 0);
  EXPECT_EQ(setting_of(second[0], general, {of_first}), general);
  const Group of_lent{.has = among({first[0].lent(first[0].space())}), .learning_rate_scale = 0};
  EXPECT_EQ(setting_of(first[0], general, {of_lent}).learning_rate, 0);

  std::vector<std::string> names;
  for (const Parameter& parameter : first) names.push_back(parameter.name());
  for (const bool tied : {false, true}) {
    SGD sgd(several({whole(first), whole(second)}, tied ? names : std::vector<std::string>()), {},
            {of_first});
    for (const auto& parameters : {first, second}) give_gradients(parameters, 1);
    const at::Tensor before = second[0].get().local(), kept = first[0].get().local();
    sgd.step();
    EXPECT_EQ(at::equal(second[0].get().local(), before), tied);
    EXPECT_SAME_BITS(first[0].get().local(), kept);
  }
}

TEST(Optimizer, TakesTheMomentumOfTheStep) {
  const at::Tensor value = at::zeros({1}, at::kDouble), gradient = at::full({1}, 1.0, at::kDouble);
  SGD sgd(std::make_shared<Cut>(value, gradient, std::vector<std::int64_t>{1}),
          SGDOptions{.learning_rate = 1, .momentum = 0.9});
  sgd.step();
  sgd.set_momentum(0.5);
  sgd.step();
  EXPECT_DOUBLE_EQ(value.item<double>(), -1 - 1.5);
}

TEST(Optimizer, SaysWhatDoesNotFit) {
  const auto parameters = some_parameters(alone(), at::kDouble);
  EXPECT_ERROR(SGD(parameters, {.learning_rate = -1}), "SGD: learning_rate is -1");
  EXPECT_ERROR(SGD(parameters, {.weight_decay = -1}), "SGD: weight_decay is -1");
  EXPECT_ERROR(SGD(parameters, {.momentum = 1}), "SGD: momentum is 1");
  EXPECT_ERROR(SGD(parameters, {.nesterov = true}), "nesterov with a momentum of 0");
  EXPECT_ERROR(SGD(parameters).set_momentum(0.5), "SGD has no momentum to set");
  EXPECT_ERROR(SGD(parameters).set_learning_rate(-1), "learning_rate is -1");
  const Which all = [](const Parameter&) { return true; };
  EXPECT_ERROR(SGD(parameters, {}, {{.has = all, .momentum = 0.5}}),
               "SGD has no momentum, which a group sets");
  EXPECT_ERROR(SGD(parameters, {}, {{.has = all, .beta2 = 0.5}}), "SGD has no beta2");
  EXPECT_ERROR(Adam(parameters, {}, {{.has = all, .beta2 = 2}}), "Adam: a group's beta2 is 2");
  EXPECT_ERROR(Adam(parameters, {}, {{.has = all, .weight_decay = -1}}), "a group's weight_decay is -1");
  EXPECT_ERROR(Adam(parameters, {}, {{.has = all, .learning_rate_scale = -1}}),
               "a group's learning_rate_scale is -1");
  EXPECT_ERROR(Adam(parameters, {}, {Group{}}), "does not say which");

  const auto own = std::make_shared<OwnTerms>(parameters);
  SGD of_terms(own);
  own->summed = false;
  EXPECT_ERROR(of_terms.step(), "SGD: step 1 takes gradients summed", "own terms", "set_reducing");

  const auto store = std::make_shared<Cut>(at::zeros({9}), at::zeros({9}), std::vector<std::int64_t>{4, 5});
  Adam optimizer(store);
  store->cut({5, 4});
  EXPECT_ERROR(optimizer.step(), "Adam: share 0 was 4 elements of w0", "and is 5");
  store->cut({9});
  EXPECT_ERROR(optimizer.step(), "the store has 1 shares, and had 2");
}

}  // namespace
}  // namespace riesz::testing
