// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
// Attention on a device, however late: what is seen of each micro-batch, caches of keys, and one order of
// sums.
#include "riesz/nn/attention/attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "riesz/comm/on_device.h"
#include "riesz/nn/attention/key_heads.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"
#include "riesz/testing/pretend_device.h"
#include "riesz/testing/random.h"
#include "there.h"

namespace riesz::testing {
namespace {

Vector carried(const Vector& x, at::Device device) { return {x.space(), on_device(x.local(), device)}; }

Vector carried_leaf(const Space& X, std::uint64_t seed, at::Device device) {
  const Vector x = carried(random_vector(X, seed, true), device);
  x.local().requires_grad_();
  return x;
}

/// The first position is always seen.
Vector seen_on(const Space& S, std::uint64_t seed, at::Device device) {
  const Vector draws = random_vector(Space(S.partition(), S.shape()), seed, true);
  const at::Tensor seen = draws.local().gt(-0.5);
  seen.narrow(1, 0, 1).fill_(true);
  return carried(distribute(S, seen), device);
}

class HoweverLate : public ::testing::TestWithParam<Lateness> {
 protected:
  LatenessScope lateness_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(OnADevice, HoweverLate,
                         ::testing::Values(Lateness::soonest, Lateness::random, Lateness::latest));

/// Each has a mask of its own; gradients are added up over all. The first calls make plans, and no later one
/// reads anything.
TEST_P(HoweverLate, ARingSeesWhatEachMicroBatchDoes) {
  const Space X = Space(row(), {2, 7, 3, 4}).sharded(1, "a"), S = Space(row(), {2, 7}).sharded(1, "a");
  expect_close_there([&](at::Device device) {
    const Vector q = carried_leaf(X, 1, device), k = carried_leaf(X, 2, device),
                 v = carried_leaf(X, 3, device);
    const Vector ybar = carried(random_vector(dual(X), 4, true), device);
    std::vector<Vector> seen;
    for (std::uint64_t i = 0; i < 4; ++i) seen.push_back(seen_on(S, 5 + i, device));
    std::vector<at::Tensor> results;
    std::optional<NoHostReads> none;
    for (const Vector& each : seen) {
      Chain chain;
      const Vector y = attention(q, k, v, {.causal = true, .seen = each});
      results.push_back(y.local().detach());
      backward(y, ybar);
      if (!none) none.emplace();
    }
    none.reset();
    for (const Vector& x : {q, k, v}) results.push_back(x.local().grad());
    return results;
  });
}

TEST_P(HoweverLate, CachesGiveTheKeysOfAllPositions) {
  const Space X = Space(row(), {2, 1, 3, 4}).sharded(2, "a");
  const at::NoGradGuard no_gradient;
  for (const std::optional<std::int64_t> window :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(3)}) {
    SCOPED_TRACE(window.value_or(0));
    expect_close_there([&](at::Device device) {
      KeyValueCache cache(2, window);
      std::vector<Vector> draws;
      for (std::uint64_t i = 0; i < 27; ++i) draws.push_back(carried(random_vector(X, i, true), device));
      std::vector<at::Tensor> results;
      std::optional<NoHostReads> none;
      for (std::size_t i = 0; i < draws.size(); i += 3) {
        const std::int64_t before = cache.positions();
        cache.append(draws[i], draws[i + 1]);
        const AttentionOptions options{.causal = true, .window = window, .offset = before - cache.first()};
        results.push_back(attention(draws[i + 2], cache.keys(), cache.values(), options).local());
        if (!none) none.emplace();
      }
      return results;
    });
  }
}

/// Where query heads share key heads unevenly. LibTorch lists the operators below, or their gradients, among
/// those that add in an order left to chance.
TEST(OnADevice, KeyHeadsAreSharedByOperatorsOfOneOrder) {
  const detail::KeyHeads heads({{3, 6}}, {{0, 4}}, 2);
  std::set<std::string> called;
  expect_close_there([&](at::Device device) {
    const Vector held = carried_leaf(Space(row(), {2, 4, 3}), 1, device);
    const at::Tensor part = carried(random_vector(Space(row(), {2, 3, 3}), 2, true), device).local();
    const at::Tensor sum = at::zeros({2, 4, 3}, part.options());
    called = operators_of([&] {
      const at::Tensor used = heads.used(held.local(), 1);
      ASSERT_EQ(used.sizes(), part.sizes());
      used.mul(part).sum().backward();
      const at::NoGradGuard no_gradient;
      heads.add_used(sum, 1, part);
    });
    return std::vector<at::Tensor>{held.local().grad(), sum};
  });
  EXPECT_TRUE(called.count("aten::cat") == 1 && called.count("SplitBackward0") == 1);
  for (const char* name : {"aten::index_add_", "aten::index_add", "aten::index_select", "aten::scatter_add_",
                           "aten::scatter_add", "aten::index_put_", "aten::_index_put_impl_", "aten::put_"})
    EXPECT_EQ(called.count(name), 0U) << name;
}

}  // namespace
}  // namespace riesz::testing
