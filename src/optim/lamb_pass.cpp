// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lamb_pass.h"

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

template <typename Number>
struct LambStrips {
  using Scalar = FlatComputed<Number>;

  Number *value, *first, *second;
  const Number* gradient;
  Scalar beta1, one_less_beta1, beta2, one_less_beta2, first_scale, second_scale, epsilon, weight_decay, step;

  RIESZ_ELEMENT void direction(const FlatStrip<Number>& w, const FlatStrip<Number>& m,
                               const FlatStrip<Number>& v, FlatStrip<Number>& u) const {
    FlatStrip<Number> root;
    detail::root_of(v, root);
    u = (1 / (root * second_scale + epsilon)) * m * first_scale + w * weight_decay;
  }

  RIESZ_ELEMENT void moments(std::int64_t at, std::int64_t count, FlatQuads& values,
                             FlatQuads& directions) const {
    FlatStrip<Number> w, g, m, v, u;
    detail::load(value + at, count, w), detail::load(gradient + at, count, g);
    detail::load(first + at, count, m), detail::load(second + at, count, v);
    m = m * beta1 + g * one_less_beta1;
    v = v * beta2 + g * g * one_less_beta2;
    detail::store(m, count, first + at), detail::store(v, count, second + at);
    if constexpr (!std::is_same_v<Number, Scalar>)
      detail::load(first + at, count, m), detail::load(second + at, count, v);
    direction(w, m, v, u);
    values.add_squares<Scalar>(w), directions.add_squares<Scalar>(u);
  }

  RIESZ_ELEMENT void apply(std::int64_t at, std::int64_t count) const {
    FlatStrip<Number> w, m, v, u;
    detail::load(value + at, count, w), detail::load(first + at, count, m),
        detail::load(second + at, count, v);
    direction(w, m, v, u);
    w -= u * step;
    detail::store(w, count, value + at);
  }
};

struct Squares : LambSquares {
  Squares& operator+=(const Squares& other) {
    value += other.value, direction += other.direction;
    return *this;
  }
};

template <typename Number>
struct LambMoments {
  using Sums = Squares;
  LambStrips<Number> of;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums& squares) const {
    FlatQuads values, directions;
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          of.moments(at, count, values, directions);
        });
    squares.value = values.total(), squares.direction = directions.total();
  }
};

template <typename Number>
struct LambApply {
  using Sums = detail::NoFlatSums;
  LambStrips<Number> of;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums&) const {
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          of.apply(at, count);
        });
  }
};

template <typename Number>
LambStrips<Number> elements_of(const LambElements& of) {
  using Scalar = FlatComputed<Number>;
  return {.value = of.value.mutable_data_ptr<Number>(),
          .first = of.first.mutable_data_ptr<Number>(),
          .second = of.second.mutable_data_ptr<Number>(),
          .gradient = nullptr,
          .beta1 = 0,
          .one_less_beta1 = 0,
          .beta2 = 0,
          .one_less_beta2 = 0,
          .first_scale = static_cast<Scalar>(of.first_scale),
          .second_scale = static_cast<Scalar>(of.second_scale),
          .epsilon = static_cast<Scalar>(of.epsilon),
          .weight_decay = static_cast<Scalar>(of.weight_decay),
          .step = 0};
}

}  // namespace

LambSquares lamb_moments(const LambElements& of, const at::Tensor& gradient, double beta1, double beta2) {
  LambSquares squares;
  if (!has_values()) return squares;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Lamb", [&] {
    using Scalar = FlatComputed<scalar_t>;
    LambStrips<scalar_t> elements = elements_of<scalar_t>(of);
    elements.gradient = gradient.const_data_ptr<scalar_t>();
    elements.beta1 = static_cast<Scalar>(beta1), elements.one_less_beta1 = static_cast<Scalar>(1 - beta1);
    elements.beta2 = static_cast<Scalar>(beta2), elements.one_less_beta2 = static_cast<Scalar>(1 - beta2);
    squares = detail::in_parts(LambMoments<scalar_t>{elements}, of.value.numel());
  });
  return squares;
}

void lamb_apply(const LambElements& of, double step) {
  if (!has_values()) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Lamb", [&] {
    LambStrips<scalar_t> elements = elements_of<scalar_t>(of);
    elements.step = static_cast<FlatComputed<scalar_t>>(step);
    detail::in_parts(LambApply<scalar_t>{elements}, of.value.numel());
  });
}

}  // namespace riesz
