// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/kernels/lane_math.h"
#include "riesz/nn/vectors/lanes.h"

// Passes over flat tensors of an optimizer, some elements at once. An element's bits depend on the element
// alone: the last elements are computed like the others, among zeros.
namespace riesz::detail {

constexpr std::int64_t kFlatPart = std::int64_t{1} << 15;  // elements

/// Some elements at once, as they are computed.
template <typename Number>
using FlatComputed = std::conditional_t<std::is_same_v<Number, double>, double, float>;
/// A register of AVX2 in fp32 (`HalfLanes`).
constexpr std::int64_t kFlatStrip = kHalfLanes;
template <typename Scalar>
using FlatStripOf __attribute__((vector_size(kFlatStrip * sizeof(Scalar)))) = Scalar;
template <typename Number>
using FlatStrip = FlatStripOf<FlatComputed<Number>>;
/// Half a strip in fp64.
using FlatQuad __attribute__((vector_size(kFlatStrip / 2 * sizeof(double)))) = double;

/// The first `count` of a strip; the rest is 0, and takes part like the others.
template <typename Number>
RIESZ_ELEMENT void load(const Number* from, std::int64_t count, FlatStrip<Number>& to) {
  if constexpr (std::is_same_v<Number, FlatComputed<Number>>) {
    if (count == kFlatStrip) {  // not by an array, which a processor waits for
      std::memcpy(&to, from, sizeof to);
      return;
    }
  }
  FlatComputed<Number> held[kFlatStrip] = {};
  for (std::int64_t i = 0; i < count; ++i) held[i] = static_cast<FlatComputed<Number>>(from[i]);
  std::memcpy(&to, held, sizeof to);
}

template <typename Number>
RIESZ_ELEMENT void store(const FlatStrip<Number>& from, std::int64_t count, Number* to) {
  if constexpr (std::is_same_v<Number, FlatComputed<Number>>) {
    if (count == kFlatStrip) {
      std::memcpy(to, &from, sizeof from);
      return;
    }
  }
  FlatComputed<Number> held[kFlatStrip];
  std::memcpy(held, &from, sizeof held);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Number>(held[i]);
}

RIESZ_ELEMENT void root_of(const FlatStripOf<float>& x, FlatStripOf<float>& y) { sqrt_of(x, y); }
RIESZ_ELEMENT void root_of(const FlatStripOf<double>& x, FlatStripOf<double>& y) {
  y = x;
  for (std::int64_t i = 0; i < kFlatStrip; ++i) y[i] = std::sqrt(x[i]);
}

/// A strip in fp64.
struct FlatQuads {
  FlatQuad low = {}, high = {};

  template <typename Scalar>
  static RIESZ_ELEMENT void of(const FlatStripOf<Scalar>& x, FlatQuads& y) {
    y.low = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), FlatQuad);
    y.high = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), FlatQuad);
  }
  template <typename Scalar>
  RIESZ_ELEMENT void add(const FlatStripOf<Scalar>& x) {
    FlatQuads wide;
    of<Scalar>(x, wide);
    low += wide.low, high += wide.high;
  }
  template <typename Scalar>
  RIESZ_ELEMENT void add_squares(const FlatStripOf<Scalar>& x) {
    FlatQuads wide;
    of<Scalar>(x, wide);
    low += wide.low * wide.low, high += wide.high * wide.high;
  }
  RIESZ_ELEMENT double total() const {
    double sum = 0;
    for (std::int64_t i = 0; i < kFlatStrip / 2; ++i) sum += low[i] + high[i];
    return sum;
  }
};

/// Calls f(at, count) for the strips from `begin` to `end`.
template <typename F>
RIESZ_ELEMENT void in_strips(std::int64_t begin, std::int64_t end, const F& f) {
  std::int64_t at = begin;
  for (; at + kFlatStrip <= end; at += kFlatStrip) f(at, kFlatStrip);
  if (at < end) f(at, end - at);
}

// A kernel is always inline in these: each is compiled for a processor.
template <typename Kernel>
void run_plainly(const Kernel& kernel, std::int64_t begin, std::int64_t end, typename Kernel::Sums& sums) {
  kernel(begin, end, sums);
}
template <typename Kernel>
RIESZ_FOR_AVX2 void run_by_avx2(const Kernel& kernel, std::int64_t begin, std::int64_t end,
                                typename Kernel::Sums& sums) {
  kernel(begin, end, sums);
}
template <typename Kernel>
RIESZ_FOR_AVX512 void run_by_avx512(const Kernel& kernel, std::int64_t begin, std::int64_t end,
                                    typename Kernel::Sums& sums) {
  kernel(begin, end, sums);
}

template <typename Kernel>
auto compiled_for_this_processor() {
  static const auto run =
      for_this_processor(&run_plainly<Kernel>, &run_by_avx2<Kernel>, &run_by_avx512<Kernel>);
  return run;
}

/// Calls kernel(begin, end, sums), which is RIESZ_ELEMENT, for parts of n elements in LibTorch's threads.
/// Returns the parts' `Kernel::Sums` added in order, so they depend on n alone. All parts but the last have
/// kFlatPart elements.
template <typename Kernel>
typename Kernel::Sums in_parts(const Kernel& kernel, std::int64_t n) {
  const auto run = compiled_for_this_processor<Kernel>();
  const std::int64_t parts = (n + kFlatPart - 1) / kFlatPart;
  std::vector<typename Kernel::Sums> sums(static_cast<std::size_t>(parts));
  in_threads(parts, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      run(kernel, part * kFlatPart, std::min(n, (part + 1) * kFlatPart),
          sums[static_cast<std::size_t>(part)]);
  });
  typename Kernel::Sums all{};
  for (const typename Kernel::Sums& part : sums) all += part;
  return all;
}

/// The sums of a kernel that makes none.
struct NoFlatSums {
  NoFlatSums& operator+=(const NoFlatSums&) { return *this; }
};

}  // namespace riesz::detail
