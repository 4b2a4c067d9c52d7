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

constexpr std::int64_t kOfThread = std::int64_t{1} << 15;  // elements

/// Some elements at once, as they are computed.
template <typename Number>
using Computed = std::conditional_t<std::is_same_v<Number, double>, double, float>;
/// A register of AVX2 in fp32 (`HalfLanes`).
constexpr std::int64_t kStrip = kHalfLanes;
template <typename Scalar>
using StripOf __attribute__((vector_size(kStrip * sizeof(Scalar)))) = Scalar;
template <typename Number>
using Strip = StripOf<Computed<Number>>;
/// Half a strip in fp64.
using Quad __attribute__((vector_size(kStrip / 2 * sizeof(double)))) = double;

/// The first `count` of a strip; the rest is 0, and takes part like the others.
template <typename Number>
RIESZ_ELEMENT void load(const Number* from, std::int64_t count, Strip<Number>& to) {
  if constexpr (std::is_same_v<Number, Computed<Number>>) {
    if (count == kStrip) {  // not by an array, which a processor waits for
      std::memcpy(&to, from, sizeof to);
      return;
    }
  }
  Computed<Number> held[kStrip] = {};
  for (std::int64_t i = 0; i < count; ++i) held[i] = static_cast<Computed<Number>>(from[i]);
  std::memcpy(&to, held, sizeof to);
}

template <typename Number>
RIESZ_ELEMENT void store(const Strip<Number>& from, std::int64_t count, Number* to) {
  if constexpr (std::is_same_v<Number, Computed<Number>>) {
    if (count == kStrip) {
      std::memcpy(to, &from, sizeof from);
      return;
    }
  }
  Computed<Number> held[kStrip];
  std::memcpy(held, &from, sizeof held);
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<Number>(held[i]);
}

RIESZ_ELEMENT void root_of(const StripOf<float>& x, StripOf<float>& y) { sqrt_of(x, y); }
RIESZ_ELEMENT void root_of(const StripOf<double>& x, StripOf<double>& y) {
  y = x;
  for (std::int64_t i = 0; i < kStrip; ++i) y[i] = std::sqrt(x[i]);
}

/// A strip in fp64.
struct Quads {
  Quad low = {}, high = {};

  template <typename Scalar>
  static RIESZ_ELEMENT void of(const StripOf<Scalar>& x, Quads& y) {
    y.low = __builtin_convertvector(__builtin_shufflevector(x, x, 0, 1, 2, 3), Quad);
    y.high = __builtin_convertvector(__builtin_shufflevector(x, x, 4, 5, 6, 7), Quad);
  }
  template <typename Scalar>
  RIESZ_ELEMENT void add(const StripOf<Scalar>& x) {
    Quads wide;
    of<Scalar>(x, wide);
    low += wide.low, high += wide.high;
  }
  template <typename Scalar>
  RIESZ_ELEMENT void add_squares(const StripOf<Scalar>& x) {
    Quads wide;
    of<Scalar>(x, wide);
    low += wide.low * wide.low, high += wide.high * wide.high;
  }
  RIESZ_ELEMENT double total() const {
    double sum = 0;
    for (std::int64_t i = 0; i < kStrip / 2; ++i) sum += low[i] + high[i];
    return sum;
  }
};

/// Calls f(at, count) for the strips from `begin` to `end`.
template <typename F>
RIESZ_ELEMENT void in_strips(std::int64_t begin, std::int64_t end, const F& f) {
  std::int64_t at = begin;
  for (; at + kStrip <= end; at += kStrip) f(at, kStrip);
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
/// kOfThread elements.
template <typename Kernel>
typename Kernel::Sums in_parts(const Kernel& kernel, std::int64_t n) {
  const auto run = compiled_for_this_processor<Kernel>();
  const std::int64_t parts = (n + kOfThread - 1) / kOfThread;
  std::vector<typename Kernel::Sums> sums(static_cast<std::size_t>(parts));
  in_threads(parts, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t part = begin; part < end; ++part)
      run(kernel, part * kOfThread, std::min(n, (part + 1) * kOfThread),
          sums[static_cast<std::size_t>(part)]);
  });
  typename Kernel::Sums all{};
  for (const typename Kernel::Sums& part : sums) all += part;
  return all;
}

/// The sums of a kernel that makes none.
struct NoSums {
  NoSums& operator+=(const NoSums&) { return *this; }
};

}  // namespace riesz::detail
