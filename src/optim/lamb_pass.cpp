// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/lamb_pass.h"

#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "riesz/comm/without_values.h"
#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/kernels/lane_math.h"
#include "riesz/nn/vectors/lanes.h"

namespace riesz {
namespace {

using detail::kLanes;

constexpr std::int64_t kOfThread = std::int64_t{1} << 15;  // elements

/// Some elements at once, as they are computed.
template <typename Number>
using Computed = at::opmath_type<Number>;
template <typename Number>
using Strip __attribute__((vector_size(kLanes * sizeof(Computed<Number>)))) = Computed<Number>;
using DoubleStrip __attribute__((vector_size(kLanes * sizeof(double)))) = double;

/// The first `count` of a strip; the rest is 0, and takes part like the others.
template <typename Number>
RIESZ_ELEMENT void load(const Number* from, std::int64_t count, Strip<Number>& to) {
  Number held[kLanes] = {};
  std::memcpy(held, from, static_cast<std::size_t>(count) * sizeof(Number));
  if constexpr (std::is_same_v<Number, Computed<Number>>) {
    std::memcpy(&to, held, sizeof to);
  } else {
    for (std::int64_t i = 0; i < kLanes; ++i) to[i] = static_cast<Computed<Number>>(held[i]);
  }
}

template <typename Number>
RIESZ_ELEMENT void store(const Strip<Number>& from, std::int64_t count, Number* to) {
  Number held[kLanes];
  if constexpr (std::is_same_v<Number, Computed<Number>>) {
    std::memcpy(held, &from, sizeof from);
  } else {
    for (std::int64_t i = 0; i < kLanes; ++i) held[i] = static_cast<Number>(from[i]);
  }
  std::memcpy(to, held, static_cast<std::size_t>(count) * sizeof(Number));
}

RIESZ_ELEMENT void root_of(const Strip<float>& x, Strip<float>& y) { detail::sqrt_of(x, y); }
RIESZ_ELEMENT void root_of(const DoubleStrip& x, DoubleStrip& y) {
  for (std::int64_t i = 0; i < kLanes; ++i) y[i] = std::sqrt(x[i]);
}

template <typename Number>
struct LambStrips {
  using Scalar = Computed<Number>;

  Number *value, *first, *second;
  const Number* gradient;
  Scalar beta1, one_less_beta1, beta2, one_less_beta2, first_scale, second_scale, epsilon, weight_decay, step;

  RIESZ_ELEMENT void direction(const Strip<Number>& w, const Strip<Number>& m, const Strip<Number>& v,
                               Strip<Number>& u) const {
    Strip<Number> root;
    root_of(v, root);
    u = (1 / (root * second_scale + epsilon)) * m * first_scale + w * weight_decay;
  }

  RIESZ_ELEMENT void moments(std::int64_t at, std::int64_t count, DoubleStrip& values,
                             DoubleStrip& directions) const {
    Strip<Number> w, g, m, v, u;
    load(value + at, count, w), load(gradient + at, count, g);
    load(first + at, count, m), load(second + at, count, v);
    m = m * beta1 + g * one_less_beta1;
    v = v * beta2 + g * g * one_less_beta2;
    store(m, count, first + at), store(v, count, second + at);
    if constexpr (!std::is_same_v<Number, Scalar>) load(first + at, count, m), load(second + at, count, v);
    direction(w, m, v, u);
    const auto wide = __builtin_convertvector(w, DoubleStrip),
               wide_u = __builtin_convertvector(u, DoubleStrip);
    values += wide * wide;
    directions += wide_u * wide_u;
  }

  RIESZ_ELEMENT void apply(std::int64_t at, std::int64_t count) const {
    Strip<Number> w, m, v, u;
    load(value + at, count, w), load(first + at, count, m), load(second + at, count, v);
    direction(w, m, v, u);
    w -= u * step;
    store(w, count, value + at);
  }
};

/// Calls f(at, count) for the strips from `begin` to `end`.
template <typename F>
RIESZ_ELEMENT void in_strips(std::int64_t begin, std::int64_t end, const F& f) {
  std::int64_t at = begin;
  for (; at + kLanes <= end; at += kLanes) f(at, kLanes);
  if (at < end) f(at, end - at);
}

RIESZ_ELEMENT double total(const DoubleStrip& strip) {
  double sum = 0;
  for (std::int64_t i = 0; i < kLanes; ++i) sum += strip[i];
  return sum;
}

template <typename Number>
RIESZ_ELEMENT void moments_of(const LambStrips<Number>& of, std::int64_t begin, std::int64_t end,
                              LambSquares& squares) {
  DoubleStrip values = {}, directions = {};
  in_strips(
      begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
        of.moments(at, count, values, directions);
      });
  squares = {total(values), total(directions)};
}

template <typename Number>
RIESZ_ELEMENT void apply_of(const LambStrips<Number>& of, std::int64_t begin, std::int64_t end,
                            LambSquares&) {
  in_strips(
      begin,
      end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) { of.apply(at, count); });
}

/// Each of a kernel's functions, compiled for a processor.
#define RIESZ_LAMB_KERNELS(name)                                                                             \
  template <typename Number>                                                                                 \
  void name##_plainly(const LambStrips<Number>& of, std::int64_t begin, std::int64_t end,                    \
                      LambSquares& squares) {                                                                \
    name(of, begin, end, squares);                                                                           \
  }                                                                                                          \
  template <typename Number>                                                                                 \
  RIESZ_FOR_AVX2 void name##_by_avx2(const LambStrips<Number>& of, std::int64_t begin, std::int64_t end,     \
                                     LambSquares& squares) {                                                 \
    name(of, begin, end, squares);                                                                           \
  }                                                                                                          \
  template <typename Number>                                                                                 \
  RIESZ_FOR_AVX512 void name##_by_avx512(const LambStrips<Number>& of, std::int64_t begin, std::int64_t end, \
                                         LambSquares& squares) {                                             \
    name(of, begin, end, squares);                                                                           \
  }
RIESZ_LAMB_KERNELS(moments_of)
RIESZ_LAMB_KERNELS(apply_of)
#undef RIESZ_LAMB_KERNELS

template <typename Number>
LambStrips<Number> elements_of(const LambElements& of) {
  using Scalar = Computed<Number>;
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

/// The sums of parts, one after another.
template <typename Kernel, typename Elements>
LambSquares in_parts(const Kernel& kernel, const Elements& of, std::int64_t n) {
  const std::int64_t parts = (n + kOfThread - 1) / kOfThread;
  std::vector<LambSquares> squares(static_cast<std::size_t>(parts));
  detail::in_threads(parts, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      kernel(of, part * kOfThread, std::min(n, (part + 1) * kOfThread),
             squares[static_cast<std::size_t>(part)]);
  });
  LambSquares all;
  for (const LambSquares& part : squares) all.value += part.value, all.direction += part.direction;
  return all;
}

}  // namespace

LambSquares lamb_moments(const LambElements& of, const at::Tensor& gradient, double beta1, double beta2) {
  LambSquares squares;
  if (!has_values()) return squares;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Lamb", [&] {
    using Scalar = Computed<scalar_t>;
    static const auto kernel = detail::for_this_processor(
        &moments_of_plainly<scalar_t>, &moments_of_by_avx2<scalar_t>, &moments_of_by_avx512<scalar_t>);
    LambStrips<scalar_t> elements = elements_of<scalar_t>(of);
    elements.gradient = gradient.const_data_ptr<scalar_t>();
    elements.beta1 = static_cast<Scalar>(beta1), elements.one_less_beta1 = static_cast<Scalar>(1 - beta1);
    elements.beta2 = static_cast<Scalar>(beta2), elements.one_less_beta2 = static_cast<Scalar>(1 - beta2);
    squares = in_parts(kernel, elements, of.value.numel());
  });
  return squares;
}

void lamb_apply(const LambElements& of, double step) {
  if (!has_values()) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Lamb", [&] {
    static const auto kernel = detail::for_this_processor(
        &apply_of_plainly<scalar_t>, &apply_of_by_avx2<scalar_t>, &apply_of_by_avx512<scalar_t>);
    LambStrips<scalar_t> elements = elements_of<scalar_t>(of);
    elements.step = static_cast<Computed<scalar_t>>(step);
    in_parts(kernel, elements, of.value.numel());
  });
}

}  // namespace riesz
