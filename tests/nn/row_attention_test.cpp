// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_attention.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gtest/gtest.h>

#include <optional>

#include "few_rows.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/nn/vectors/arithmetic.h"
#include "riesz/partition/partition.h"

namespace riesz::testing {
namespace {

/// Of torch in fp64, each query head with the key head that it uses.
at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                    const detail::KeyHeads& heads, double scale) {
  const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble).transpose(1, 2); };
  return at::scaled_dot_product_attention(wide(q), wide(heads.used(k, 2)), wide(heads.used(v, 2)), {}, 0,
                                          false, scale)
      .transpose(1, 2);
}

TEST(RowAttention, IsThatOfEachHeadHoweverKeyHeadsAreShared) {
  at::manual_seed(1);
  const detail::KeyHeads uneven({{4, 9}}, {{0, 3}}, 3), own({{0, 5}}, {{0, 5}}, 1);  // 1, 1, 2, 2, 2
  for (const detail::KeyHeads& heads : {uneven, own}) {
    for (const std::int64_t S : {1, 6, 77}) {
      for (const std::int64_t d : {16, 64}) {
        const at::Tensor q = floats({2, 1, 5, d});
        const at::Tensor k = in_a_room(floats({2, S, 5, d})), v = floats({2, 5, S, d}).transpose(1, 2);
        ASSERT_TRUE(detail::is_row_attention(q, k, v));
        spoil({2, 1, 5, d});
        const at::Tensor y = detail::row_attention(q, k, v, heads, 0.125);
        EXPECT_LE(largest(y.sub(attended(q, k, v, heads, 0.125))), 1e-6) << S << " positions of " << d;
        const auto second = [](const at::Tensor& x) { return x.narrow(0, 1, 1).clone(); };
        EXPECT_TRUE(detail::row_attention(second(q), second(k), second(v), heads, 0.125).equal(second(y)));
      }
    }
  }
  const at::Tensor odd = floats({1, 1, 1, 24}), x = floats({1, 1, 1, 16});
  EXPECT_FALSE(detail::is_row_attention(odd, odd, odd));
  EXPECT_FALSE(detail::is_row_attention(x, x, x.clone().requires_grad_()));
}

TEST(RowAttention, SeesOfACacheWhatItsPositionSees) {
  at::manual_seed(1);
  const at::NoGradGuard no_gradient;
  const Space Q(Partition::simulated(1), {2, 1, 6, 16}), K(Partition::simulated(1), {2, 1, 2, 16});
  for (const auto& window : {std::optional<std::int64_t>(), std::optional<std::int64_t>(4)}) {
    KeyValueCache cache(3, window), wide_cache(3, window);
    for (std::int64_t t = 0; t < 11; ++t) {
      const Vector q(Q, floats(Q.shape())), k(K, floats(K.shape())), v(K, floats(K.shape()));
      cache.append(k, v), wide_cache.append(cast(k, at::kDouble), cast(v, at::kDouble));
      const auto attend = [&](const Vector& queries, KeyValueCache& from) {
        return attention(queries, from.keys(), from.values(),
                         {.causal = true, .window = window, .offset = t - from.first()})
            .local();
      };
      ASSERT_TRUE(detail::is_row_attention(q.local(), cache.keys().local(), cache.values().local()));
      EXPECT_LE(largest(attend(q, cache).sub(attend(cast(q, at::kDouble), wide_cache))), 1e-6) << t;
    }
  }
}

}  // namespace
}  // namespace riesz::testing
