// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/without_values.h"

#include <ATen/ops/_embedding_bag_forward_only.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/full.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <tuple>

#include "riesz/comm/host_value.h"
#include "riesz/comm/thread.h"
#include "riesz/testing/error.h"

namespace riesz {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(WithoutValues, AProductOfManyTerabytesHasItsShapeAndGradients) {
  const WithoutValues nothing_computed;
  const at::Tensor x = at::zeros({1 << 20, 1 << 14}).requires_grad_();
  const at::Tensor w = at::full({1 << 17, 1 << 14}, 0.5).requires_grad_();

  const at::Tensor y = at::silu(at::matmul(x, w.t()));
  y.sum().backward();

  EXPECT_EQ(y.sizes(), (Sizes{1 << 20, 1 << 17}));
  EXPECT_EQ(w.grad().sizes(), w.sizes());
  EXPECT_EQ(x.grad().sizes(), x.sizes());
}

TEST(WithoutValues, HasTheShapesAndTypesThatValuesHave) {
  const auto results = [] {
    const at::Tensor x = at::zeros({2, 6, 4, 8}).requires_grad_();
    const at::Tensor table = at::zeros({5, 8}, at::kDouble).requires_grad_();
    const at::Tensor rows = at::embedding(table, at::zeros({3}, at::kLong));
    const at::Tensor attended = at::scaled_dot_product_attention(x, x, x, {}, 0.0, true);
    const at::Tensor normal = at::layer_norm(attended, {8}, at::zeros({8}), at::zeros({8}));
    normal.sum().add(rows.sum()).backward();
    const at::Tensor bags = std::get<0>(
        at::_embedding_bag_forward_only(at::zeros({4, 3}, at::kDouble), at::arange(4), at::arange(0, 4, 2)));
    return std::vector<at::Tensor>{rows,
                                   bags,
                                   attended,
                                   normal,
                                   x.grad(),
                                   table.grad(),
                                   at::where(x.gt(0), x, 1),
                                   at::logical_and(x.gt(0), x.lt(1)),
                                   at::arange(1, 9, 2),
                                   x.to(at::kBFloat16).sum(1).transpose(0, 1),
                                   x.select(0, 1).narrow(1, 1, 2).contiguous()};
  };
  const std::vector<at::Tensor> computed = results();
  const WithoutValues nothing_computed;
  const std::vector<at::Tensor> shaped = results();

  for (std::size_t i = 0; i < computed.size(); ++i) {
    EXPECT_EQ(shaped[i].sizes(), computed[i].sizes()) << i;
    EXPECT_EQ(shaped[i].strides(), computed[i].strides()) << i;
    EXPECT_EQ(shaped[i].scalar_type(), computed[i].scalar_type()) << i;
    EXPECT_TRUE(shaped[i].is_cpu()) << i;
  }
}

/// Of a part of what lies together, as queries do beside keys and values.
TEST(WithoutValues, ResultsTakeTheirOwnMemoryAlone) {
  const WithoutValues nothing_computed;
  const at::Tensor all = at::zeros({2, 6, 3, 4, 8}), q = all.select(2, 0).transpose(1, 2);
  const at::Tensor y = at::scaled_dot_product_attention(q, q, q, {}, 0.0, true);
  EXPECT_EQ(y.sizes(), q.sizes());
  EXPECT_EQ(y.storage().nbytes(), y.nbytes());
}

TEST(WithoutValues, ViewsAndInPlaceResultsAreWhatTheyAreViewsOf) {
  const WithoutValues nothing_computed;
  at::Tensor x = at::zeros({4, 4});

  EXPECT_TRUE(x.t().is_alias_of(x));
  const auto version = x._version();
  EXPECT_TRUE(x.add_(1).is_same(x));
  EXPECT_EQ(x._version(), version + 1) << "who watches for writes sees them";
}

TEST(WithoutValues, HoldsForThreadsAndEnds) {
  EXPECT_TRUE(has_values());
  {
    const WithoutValues nothing_computed;
    Thread([] { EXPECT_FALSE(has_values()); }).join();
  }
  EXPECT_TRUE(has_values());
  EXPECT_EQ(at::full({3}, 2).sum().item<float>(), 6);
}

TEST(WithoutValues, NamesWhatNeedsValues) {
  const WithoutValues nothing_computed;
  EXPECT_ERROR(at::zeros({3}).nonzero(), "aten::nonzero", "not known without values");
  EXPECT_ERROR(at::zeros({1}).item<float>(), "aten::_local_scalar_dense", "host_value");
}

TEST(HostValue, IsWhatIsSaidInASimulation) {
  EXPECT_EQ(host_value(at::full({1}, 3), 7.0F), 3);
  const Simulation job(0, 2);
  EXPECT_EQ(host_value(at::full({1}, 3), 7.0F), 7);
  EXPECT_EQ(host_values(at::zeros({2}), 1.0F), (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace riesz
