// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "riesz/comm/kernels/mark.h"
#include "riesz/comm/without_values.h"
#include "riesz/nn/kernels/in_threads.h"
#include "riesz/nn/kernels/stored_numbers.h"

// A kernel of rows is written once, as a function of one row and of the threads that compute it, its `Team`:
//
//     struct Doubled {
//       const float* x; float* y; std::int64_t n;
//       template <typename Team>
//       RIESZ_ROW void operator()(const Team&, std::int64_t row) const {
//         Team::each(0, n, [&](auto part) RIESZ_PART {
//           typename Team::Numbers a;
//           part.load(x + row * n, a);
//           part.store(a + a, y + row * n);
//         });
//       }
//     };
//     for_each_row(rows, n, Doubled{x, y, n});
//
// On a CPU a team is one thread, whose numbers are the lanes of a register. On a device it is a block of
// threads, whose numbers are one float a thread (cuda/team.h); rows stay as they are.

namespace riesz::detail {

/// Elements of a row that are computed at once: `count` from `at` on, in the lanes of Vector.
template <typename Vector, bool whole>
struct RowPart {
  std::int64_t at, count;

  /// Lanes without an element get `fill`.
  template <typename Number>
  RIESZ_ROW void load(const Number* row, Vector& x, float fill = 0) const {
    if constexpr (whole) {
      detail::load(row + at, x);
    } else {
      Number held[kLanesOf<Vector>];
      for (Number& each : held) each = kernels::narrowed<Number>(fill);
      std::memcpy(held, row + at, static_cast<std::size_t>(count) * sizeof(Number));
      detail::load(held, x);
    }
  }

  /// 0 in lanes without an element.
  RIESZ_ROW void without_rest(Vector& x) const {
    if constexpr (!whole)
      for (std::int64_t i = count; i < kLanesOf<Vector>; ++i) x[i] = 0;
  }

  template <typename Number>
  RIESZ_ROW void store(const Vector& x, Number* row) const {
    if constexpr (whole) {
      detail::store(x, row + at);
    } else {
      Number held[kLanesOf<Vector>];
      detail::store(x, held);
      std::memcpy(row + at, held, static_cast<std::size_t>(count) * sizeof(Number));
    }
  }
};

RIESZ_ROW float greatest_of(const HalfLanes& lanes) {
  const auto low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3);
  const auto high = __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
  const auto four = low > high ? low : high;
  const float a = four[0] > four[1] ? four[0] : four[1], b = four[2] > four[3] ? four[2] : four[3];
  return a > b ? a : b;
}

RIESZ_ROW float greatest_of(const Lanes& lanes) {
  const HalfLanes low = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3, 4, 5, 6, 7);
  const HalfLanes high = __builtin_shufflevector(lanes, lanes, 8, 9, 10, 11, 12, 13, 14, 15);
  return greatest_of(HalfLanes(low > high ? low : high));
}

/// A thread of a CPU that computes a row by itself.
template <typename Vector>
struct OneThread {
  using Numbers = Vector;

  /// How many elements are computed at once, and how many stay in the nearest memory.
  static constexpr std::int64_t width() { return kLanesOf<Vector>; }
  static constexpr std::int64_t near_elements() { return 2048; }
  /// The part of the element of that index alone.
  static RIESZ_ROW RowPart<Vector, false> one(std::int64_t index) { return {index, 1}; }
  /// Waits until each thread of the team sees what the others have written. Here there is one.
  static RIESZ_ROW void wait() {}

  /// Calls f with each part of the elements from `begin` to `end`.
  template <typename F>
  static RIESZ_ROW void each(std::int64_t begin, std::int64_t end, const F& f) {
    std::int64_t at = begin;
    for (; at + kLanesOf<Vector> <= end; at += kLanesOf<Vector>)
      f(RowPart<Vector, true>{at, kLanesOf<Vector>});
    if (at < end) f(RowPart<Vector, false>{at, end - at});
  }

  /// Σ over the elements 0 to n of each of the numbers that f puts in `terms`; 0 where there is no element.
  /// The additions of several chains do not wait for one another. Their order depends on n alone.
  template <int count, typename F>
  static RIESZ_ROW void sums(std::int64_t n, float (&results)[count], const F& f) {
    constexpr std::int64_t kChains = 4, kStep = kLanesOf<Vector>;
    Vector all[kChains][count] = {};
    std::int64_t at = 0;
    for (; at + kChains * kStep <= n; at += kChains * kStep) {
      for (std::int64_t chain = 0; chain < kChains; ++chain) {
        Vector terms[count];
        f(RowPart<Vector, true>{at + chain * kStep, kStep}, terms);
        for (int i = 0; i < count; ++i) all[chain][i] += terms[i];
      }
    }
    each(at, n, [&](auto part) RIESZ_PART {
      Vector terms[count];
      f(part, terms);
      for (int i = 0; i < count; ++i) all[0][i] += terms[i];
    });
    for (int i = 0; i < count; ++i)
      results[i] = sum_of(Vector((all[0][i] + all[1][i]) + (all[2][i] + all[3][i])));
  }

  static RIESZ_ROW float first(const Vector& numbers) { return numbers[0]; }
  static RIESZ_ROW float sum(const Vector& numbers) { return sum_of(numbers); }
  static RIESZ_ROW float greatest(const Vector& numbers) { return greatest_of(numbers); }
};

template <typename Kernel>
void rows_plainly(const Kernel& kernel, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) kernel(OneThread<HalfLanes>{}, row);
}
template <typename Kernel>
RIESZ_FOR_AVX2 void rows_in_avx2(const Kernel& kernel, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) kernel(OneThread<HalfLanes>{}, row);
}
template <typename Kernel>
RIESZ_FOR_AVX512 void rows_in_avx512(const Kernel& kernel, std::int64_t begin, std::int64_t end) {
  for (std::int64_t row = begin; row < end; ++row) kernel(OneThread<Lanes>{}, row);
}

/// The least number of elements for which a thread pays.
constexpr std::int64_t kElementsOfThread = std::int64_t{1} << 15;

/// Calls `kernel(team, row)` for rows 0 to `rows`. `elements_of_row`, a row's cost in elements, decides how
/// many rows a thread takes. LibTorch's threads share the rows. A row is one thread's, so bits do not depend
/// on the number of threads.
template <typename Kernel>
void for_each_row(std::int64_t rows, std::int64_t elements_of_row, const Kernel& kernel) {
  if (!has_values()) return;
  static const auto run =
      for_this_processor(&rows_plainly<Kernel>, &rows_in_avx2<Kernel>, &rows_in_avx512<Kernel>);
  const std::int64_t at_once =
      std::max<std::int64_t>(1, kElementsOfThread / std::max<std::int64_t>(1, elements_of_row));
  if (rows <= at_once) return run(kernel, 0, rows);
  in_threads((rows + at_once - 1) / at_once, [&](std::int64_t begin, std::int64_t end) {
    run(kernel, begin * at_once, std::min(rows, end * at_once));
  });
}

}  // namespace riesz::detail
