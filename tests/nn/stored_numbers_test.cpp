// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/kernels/stored_numbers.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "riesz/nn/kernels/rows.h"
#include "riesz/nn/kernels/stored.h"

namespace riesz::testing {
namespace {

/// Each row of x, as numbers of another type.
template <typename From, typename To>
struct Converted {
  const From* x;
  To* y;
  std::int64_t n;

  template <typename Team>
  RIESZ_ROW void operator()(const Team& /*team*/, std::int64_t row) const {
    Team::each(0, n, [&](auto part) RIESZ_PART {
      typename Team::Numbers a;
      part.load(x + row * n, a);
      part.store(a, y + row * n);
    });
  }
};

at::Tensor to_floats(const at::Tensor& x) {
  at::Tensor y = at::empty(x.sizes(), at::kFloat);
  detail::for_stored(x.scalar_type(), [&](auto number) {
    using Number = decltype(number);
    detail::for_each_row(
        x.size(0), x.size(1),
        Converted<Number, float>{detail::numbers_of<Number>(x), y.mutable_data_ptr<float>(), x.size(1)});
  });
  return y;
}

at::Tensor from_floats(const at::Tensor& x, at::ScalarType type) {
  at::Tensor y = at::empty(x.sizes(), type);
  detail::for_stored(type, [&](auto number) {
    using Number = decltype(number);
    detail::for_each_row(
        x.size(0), x.size(1),
        Converted<float, Number>{x.const_data_ptr<float>(), detail::numbers_to<Number>(y), x.size(1)});
  });
  return y;
}

/// The same, one number after another, as a thread of a device has them.
at::Tensor each_to_float(const at::Tensor& x) {
  at::Tensor y = at::empty(x.sizes(), at::kFloat);
  detail::for_stored(x.scalar_type(), [&](auto number) {
    const auto* const from = detail::numbers_of<decltype(number)>(x);
    auto* const to = y.mutable_data_ptr<float>();
    for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = kernels::widened(from[i]);
  });
  return y;
}

at::Tensor each_from_float(const at::Tensor& x, at::ScalarType type) {
  at::Tensor y = at::empty(x.sizes(), type);
  detail::for_stored(type, [&](auto number) {
    using Number = decltype(number);
    const auto* const from = x.const_data_ptr<float>();
    auto* const to = detail::numbers_to<Number>(y);
    for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = kernels::narrowed<Number>(from[i]);
  });
  return y;
}

/// Equal numbers with equal signs, or NaN in both.
bool are_same(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor same = a.eq(b).logical_and(a.signbit().eq(b.signbit()));
  return same.logical_or(a.isnan().logical_and(b.isnan())).all().item<bool>();
}

TEST(StoredNumbers, AreLibTorchsFromEachHalf) {
  const at::Tensor bits = at::arange(-32768, 32768, at::kShort).view({16, 4096});
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor x = bits.view(type);
    EXPECT_TRUE(are_same(to_floats(x), x.to(at::kFloat))) << type;
    const at::Tensor short_rows = x.reshape({-1, 1});
    EXPECT_TRUE(are_same(to_floats(short_rows), short_rows.to(at::kFloat))) << type;
    EXPECT_TRUE(are_same(each_to_float(x), x.to(at::kFloat))) << type;
  }
}

TEST(StoredNumbers, AreRoundedToHalvesAsByLibTorch) {
  // Each half, the middle between it and the next, and what lies beside the middle; and any floats.
  const at::Tensor bits = at::arange(-32768, 32768, at::kShort);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor of_halves = bits.view(type).to(at::kFloat).view(at::kInt);
    const std::int64_t middle = type == at::kHalf ? 1 << 12 : 1 << 15;
    const at::Tensor any = at::randint(std::numeric_limits<std::int32_t>::min(),
                                       std::numeric_limits<std::int32_t>::max(), {1 << 16}, at::kInt);
    at::Tensor below_the_least =
        at::arange(0, 1 << 16, at::kInt).add(0x33000000 - (1 << 15));  // of fp16: 2^-25
    const at::Tensor all = at::cat({of_halves, of_halves.add(middle), of_halves.add(middle - 1),
                                    of_halves.add(middle + 1), any, below_the_least})
                               .view(at::kFloat)
                               .view({-1, 4096});
    EXPECT_TRUE(are_same(from_floats(all, type), all.to(type))) << type;
    const at::Tensor odd = all.reshape({-1}).narrow(0, 5, 100003).view({1, -1});
    EXPECT_TRUE(are_same(from_floats(odd, type), odd.to(type))) << type;
    EXPECT_TRUE(are_same(each_from_float(all, type), all.to(type))) << type;
  }
}

}  // namespace
}  // namespace riesz::testing
