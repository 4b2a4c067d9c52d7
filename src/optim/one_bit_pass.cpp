// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/one_bit_pass.h"

#include <ATen/Dispatch.h>

#include <cstdint>
#include <type_traits>

#include "riesz/comm/without_values.h"
#include "riesz/optim/strips.h"

namespace riesz {
namespace {

using detail::FlatComputed;
using detail::FlatQuads;
using detail::FlatStrip;
using detail::kFlatStrip;

static_assert(kFlatStrip == 8, "the signs of a strip are a byte");
using Bits = std::int32_t __attribute__((vector_size(kFlatStrip * sizeof(std::int32_t))));
constexpr Bits kBitOfEach = {1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7};

/// The first `count` signs of x.
template <typename Number>
RIESZ_ELEMENT void store_signs(const FlatStrip<Number>& x, std::int64_t count, std::uint8_t* to) {
  const Bits set = __builtin_convertvector(x >= 0, Bits) & kBitOfEach;
  std::int32_t all = 0;
  for (std::int64_t i = 0; i < kFlatStrip; ++i) all |= set[i];
  *to = static_cast<std::uint8_t>(all & ((1 << count) - 1));
}

/// ±size by the signs.
template <typename Number>
RIESZ_ELEMENT void load_signs(const std::uint8_t* from, FlatComputed<Number> size, FlatStrip<Number>& to) {
  const Bits all = Bits{} + *from;
  const Bits set = (all & kBitOfEach) != 0;  // −1 where it is
  to = __builtin_convertvector(-2 * set - 1, FlatStrip<Number>) * size;
}

template <typename Number>
struct Compress {
  using Sums = double;
  const Number *x, *g;  // g: nullptr if there is none
  Number* error;
  std::uint8_t* bytes;
  FlatComputed<Number> keep, scale;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, double& sum) const {
    FlatQuads squares;
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          FlatStrip<Number> m, e;
          detail::load(x + at, count, m), detail::load(error + at, count, e);
          e += m * keep;
          if (g != nullptr) {
            detail::load(g + at, count, m);
            e += m * scale;
          }
          detail::store(e, count, error + at);
          if constexpr (!std::is_same_v<Number, FlatComputed<Number>>) detail::load(error + at, count, e);
          store_signs<Number>(e, count, bytes + at / 8);
          squares.add_squares<FlatComputed<Number>>(e);
        });
    sum = squares.total();
  }
};

template <typename Number>
struct Lose {
  using Sums = detail::NoFlatSums;
  Number* error;
  FlatComputed<Number> scale;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums&) const {
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          FlatStrip<Number> e;
          detail::load(error + at, count, e);
          e = e >= 0 ? e - scale : e + scale;
          detail::store(e, count, error + at);
        });
  }
};

template <typename Number>
struct SetSigns {
  using Sums = detail::NoFlatSums;
  const std::uint8_t* bytes;
  Number* x;
  FlatComputed<Number> scale;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums&) const {
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          FlatStrip<Number> signs;
          load_signs<Number>(bytes + at / 8, scale, signs);
          detail::store(signs, count, x + at);
        });
  }
};

template <typename Number>
struct ApplyMean {
  using Sums = detail::NoFlatSums;
  Number *value, *momentum;
  const Number* variance;
  FlatComputed<Number> keep, step, second_scale, epsilon;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums&) const {
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          FlatStrip<Number> w, m, v, root;
          detail::load(value + at, count, w), detail::load(momentum + at, count, m);
          detail::load(variance + at, count, v);
          m = v > 0 ? m : m * FlatStrip<Number>{};  // NaN stays
          detail::root_of(v, root);
          w = w * keep - m * step / (root * second_scale + epsilon);
          detail::store(m, count, momentum + at), detail::store(w, count, value + at);
        });
  }
};

}  // namespace

double one_bit_compress(const at::Tensor& x, double keep, const at::Tensor& g, double scale,
                        const at::Tensor& error, const at::Tensor& bytes) {
  double sum = 0;
  if (!has_values() || x.numel() == 0) return sum;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "one_bit_compress", [&] {
    using Scalar = FlatComputed<scalar_t>;
    sum = detail::in_parts(
        Compress<scalar_t>{x.const_data_ptr<scalar_t>(), g.defined() ? g.const_data_ptr<scalar_t>() : nullptr,
                           error.mutable_data_ptr<scalar_t>(), bytes.mutable_data_ptr<std::uint8_t>(),
                           static_cast<Scalar>(keep), static_cast<Scalar>(scale)},
        x.numel());
  });
  return sum;
}

void one_bit_lose(const at::Tensor& error, double scale) {
  if (!has_values() || error.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, error.scalar_type(), "one_bit_lose", [&] {
    detail::in_parts(
        Lose<scalar_t>{error.mutable_data_ptr<scalar_t>(), static_cast<FlatComputed<scalar_t>>(scale)},
        error.numel());
  });
}

void one_bit_set(const at::Tensor& bytes, double scale, const at::Tensor& x) {
  if (!has_values() || x.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "one_bit_set", [&] {
    detail::in_parts(SetSigns<scalar_t>{bytes.const_data_ptr<std::uint8_t>(), x.mutable_data_ptr<scalar_t>(),
                                        static_cast<FlatComputed<scalar_t>>(scale)},
                     x.numel());
  });
}

void one_bit_apply(const at::Tensor& value, const at::Tensor& momentum, const at::Tensor& variance,
                   double keep, double step, double second_scale, double epsilon) {
  if (!has_values() || value.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, value.scalar_type(), "one_bit_apply", [&] {
    using Scalar = FlatComputed<scalar_t>;
    detail::in_parts(
        ApplyMean<scalar_t>{value.mutable_data_ptr<scalar_t>(), momentum.mutable_data_ptr<scalar_t>(),
                            variance.const_data_ptr<scalar_t>(), static_cast<Scalar>(keep),
                            static_cast<Scalar>(step), static_cast<Scalar>(second_scale),
                            static_cast<Scalar>(epsilon)},
        value.numel());
  });
}

}  // namespace riesz
