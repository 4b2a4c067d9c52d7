// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/row_turns.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/nn/attention/turned_pair.h"
#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/vectors/lanes.h"

// A product is rounded before it is added, also where the processor could do both in one.
#if defined(__GNUC__) && !defined(__clang__)
#define RIESZ_ROUND_EACH __attribute__((optimize("fp-contract=off")))
#else
#define RIESZ_ROUND_EACH
#pragma STDC FP_CONTRACT OFF
#endif
#if defined(__x86_64__)
#define RIESZ_WITHOUT_FMA __attribute__((target("avx2")))
#else
#define RIESZ_WITHOUT_FMA
#endif

namespace riesz::detail {
namespace {

constexpr std::int64_t kOfThread = std::int64_t{1} << 14;  // elements that are worth a thread of their own

/// What numbers are turned in.
template <typename Number>
using Turned = std::conditional_t<sizeof(Number) == 2, float, Number>;

/// A pair (a, b), turned.
template <typename Number>
inline __attribute__((always_inline)) void turn(Number& a, Number& b, Turned<Number> cosine,
                                                Turned<Number> sine) {
  auto first = static_cast<Turned<Number>>(a), second = static_cast<Turned<Number>>(b);
  turn_pair<Turned<Number>>(first, second, cosine, sine);
  a = static_cast<Number>(first);
  b = static_cast<Number>(second);
}

template <typename Number>
struct Rows {
  const Number* x;
  const Turned<Number>*cosine, *sine;  // of all positions
  Turned<Number> sign;                 // of the angle
  std::int64_t positions, heads, width, pairs;
  Number* y;
};

template <RotaryPairs lie, typename Number>
inline __attribute__((always_inline)) void turn_row(const Rows<Number>& rows, std::int64_t row) {
  const Number* const x = rows.x + row * rows.width;
  Number* const y = rows.y + row * rows.width;
  const std::int64_t angles = row / rows.heads % rows.positions * rows.pairs, pairs = rows.pairs;
  const Turned<Number>*const cosine = rows.cosine + angles, *const sine = rows.sine + angles;
  const Turned<Number> sign = rows.sign;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < pairs; ++i) {
    const std::int64_t first = lie == RotaryPairs::neighbours ? 2 * i : i;
    const std::int64_t second = lie == RotaryPairs::neighbours ? 2 * i + 1 : i + pairs;
    Number a = x[first], b = x[second];
    turn(a, b, cosine[i], sign * sine[i]);
    y[first] = a;
    y[second] = b;
  }
  if (x != y) std::copy(x + 2 * pairs, x + rows.width, y + 2 * pairs);
}

template <RotaryPairs lie, typename Number>
RIESZ_ROUND_EACH void turn_plainly(const Rows<Number>& rows, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) turn_row<lie>(rows, row);
}
template <RotaryPairs lie, typename Number>
RIESZ_ROUND_EACH RIESZ_WITHOUT_FMA void turn_by_avx2(const Rows<Number>& rows, std::int64_t begin,
                                                     std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) turn_row<lie>(rows, row);
}

template <RotaryPairs lie, typename Number>
void turn_all(const at::Tensor& x, const RotaryTurns& turns, Turning way, const at::Tensor& y) {
  static const auto kernel =
      for_this_processor(turn_plainly<lie, Number>, turn_by_avx2<lie, Number>, turn_by_avx2<lie, Number>);
  const Rows<Number> all{x.const_data_ptr<Number>(),
                         turns.cosine.const_data_ptr<Turned<Number>>(),
                         turns.sine.const_data_ptr<Turned<Number>>(),
                         static_cast<Turned<Number>>(way == Turning::back ? -1 : 1),
                         x.size(-3),
                         x.size(-2),
                         x.size(-1),
                         turns.cosine.size(-1),
                         y.mutable_data_ptr<Number>()};
  const std::int64_t rows = x.numel() / all.width, at_once = std::max<std::int64_t>(1, kOfThread / all.width);
  in_threads((rows + at_once - 1) / at_once, [&](std::int64_t begin, std::int64_t end) {
    kernel(all, begin * at_once, std::min(rows, end * at_once));
  });
}

template <typename Number>
void turn_pairs(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
                const at::Tensor& y) {
  if (pairs == RotaryPairs::neighbours) return turn_all<RotaryPairs::neighbours, Number>(x, turns, way, y);
  turn_all<RotaryPairs::halves, Number>(x, turns, way, y);
}

template <bool neighbours, typename T>
void queue_turns(const at::Tensor& x, const RotaryTurns& turns, Turning way, const at::Tensor& y) {
  using Wide = kernels::Wide<T>;
  const TurnedPairs<T, neighbours> all{static_cast<const T*>(x.const_data_ptr()),
                                       turns.cosine.const_data_ptr<Wide>(),
                                       turns.sine.const_data_ptr<Wide>(),
                                       static_cast<Wide>(way == Turning::back ? -1 : 1),
                                       x.size(-3),
                                       x.size(-2),
                                       x.size(-1),
                                       turns.cosine.size(-1),
                                       static_cast<T*>(y.mutable_data_ptr())};
  queue_kernel(x.device(), x.numel() / all.width * (all.width - all.pairs), 1, all);
}

template <typename T>
void queue_turns(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
                 const at::Tensor& y) {
  if (pairs == RotaryPairs::neighbours) return queue_turns<true, T>(x, turns, way, y);
  queue_turns<false, T>(x, turns, way, y);
}

/// By the kernels of a device.
void turn_rows_there(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
                     const at::Tensor& y) {
  switch (x.scalar_type()) {
    case at::kDouble:
      return queue_turns<double>(x, turns, pairs, way, y);
    case at::kHalf:
      return queue_turns<kernels::Half>(x, turns, pairs, way, y);
    case at::kBFloat16:
      return queue_turns<kernels::BFloat16>(x, turns, pairs, way, y);
    default:
      return queue_turns<float>(x, turns, pairs, way, y);
  }
}

}  // namespace

bool has_rows_to_turn(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  const bool number = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  return number && !x.is_neg() && (x.is_cpu() || has_kernel<TurnedPairs<float, true>>(x.device()));
}

void turn_rows(const at::Tensor& x, const RotaryTurns& turns, RotaryPairs pairs, Turning way,
               const at::Tensor& y) {
  if (x.numel() == 0) return;
  if (!x.is_cpu()) return turn_rows_there(x, turns, pairs, way, y);
  switch (x.scalar_type()) {
    case at::kDouble:
      return turn_pairs<double>(x, turns, pairs, way, y);
    case at::kHalf:
      return turn_pairs<at::Half>(x, turns, pairs, way, y);
    case at::kBFloat16:
      return turn_pairs<at::BFloat16>(x, turns, pairs, way, y);
    default:
      return turn_pairs<float>(x, turns, pairs, way, y);
  }
}

#undef RIESZ_ROUND_EACH
#undef RIESZ_WITHOUT_FMA

}  // namespace riesz::detail
