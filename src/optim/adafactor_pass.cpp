// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/adafactor_pass.h"

#include <ATen/Dispatch.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "riesz/comm/without_values.h"
#include "riesz/optim/strips.h"

namespace riesz {
namespace {

using detail::FlatComputed;
using detail::FlatQuads;
using detail::FlatStrip;

template <typename Number>
struct Adafactored {
  using Scalar = FlatComputed<Number>;

  Number* value;
  const Number *gradient, *variance;  // nullptr: by rows and columns
  const Number *rows, *columns;
  const Line *first, *last;
  Scalar least, keep, step;

  /// max(V, ε₁²). NaN stays.
  RIESZ_ELEMENT void bounded(const FlatStrip<Number>& v, FlatStrip<Number>& to) const {
    to = v < least ? FlatStrip<Number>{} + least : v;
  }

  /// Calls f(at, count, max(V, ε₁²)) for the elements from `begin` to `end`.
  template <typename F>
  RIESZ_ELEMENT void each(std::int64_t begin, std::int64_t end, const F& f) const {
    if (variance != nullptr) {
      detail::in_strips(
          begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
            FlatStrip<Number> v, most;
            detail::load(variance + at, count, v);
            bounded(v, most);
            f(at, count, most);
          });
      return;
    }
    const Line* line =
        std::partition_point(first, last, [&](const Line& l) { return l.at + l.size <= begin; });
    for (; line != last && line->at < end; ++line) {
      const std::int64_t from = std::max(begin, line->at), to = std::min(end, line->at + line->size);
      const auto row = static_cast<Scalar>(rows[line->row]);
      const Number* column = columns + line->column - line->at;
      detail::in_strips(
          from, to, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
            FlatStrip<Number> c, most;
            detail::load(column + at, count, c);
            bounded(c * row, most);
            f(at, count, most);
          });
    }
  }
};

template <typename Number>
struct AdafactorSquares {
  using Sums = double;
  Adafactored<Number> of;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, double& sum) const {
    FlatQuads squares;
    of.each(
        begin, end,
        [&](std::int64_t at, std::int64_t count, const FlatStrip<Number>& v) __attribute__((always_inline)) {
          FlatStrip<Number> g;
          detail::load(of.gradient + at, count, g);
          FlatStrip<Number> square = g / v * g;
          for (std::int64_t i = count; i < detail::kFlatStrip; ++i) square[i] = 0;  // may be 0/0
          squares.add<FlatComputed<Number>>(square);
        });
    sum = squares.total();
  }
};

template <typename Number>
struct AdafactorApply {
  using Sums = detail::NoFlatSums;
  Adafactored<Number> of;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, Sums&) const {
    of.each(
        begin, end,
        [&](std::int64_t at, std::int64_t count, const FlatStrip<Number>& v) __attribute__((always_inline)) {
          FlatStrip<Number> w, g, root;
          detail::load(of.value + at, count, w), detail::load(of.gradient + at, count, g);
          detail::root_of(v, root);
          w = w * of.keep - g / root * of.step;
          detail::store(w, count, of.value + at);
        });
  }
};

/// Of one line, to sums of its row and columns.
template <typename Number>
struct AdafactorLine {
  using Sums = double;
  const Number* gradient;
  double* columns;

  RIESZ_ELEMENT void operator()(std::int64_t begin, std::int64_t end, double& sum) const {
    FlatQuads squares;
    detail::in_strips(
        begin, end, [&](std::int64_t at, std::int64_t count) __attribute__((always_inline)) {
          FlatStrip<Number> g;
          FlatQuads wide;
          detail::load(gradient + at, count, g);
          FlatQuads::of<FlatComputed<Number>>(g, wide);
          wide.low *= wide.low, wide.high *= wide.high;
          squares.low += wide.low, squares.high += wide.high;
          double column[detail::kFlatStrip];
          const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(double);
          std::memcpy(column, columns + at, bytes);
          for (std::int64_t i = 0; i < detail::kFlatStrip / 2; ++i)
            column[i] += wide.low[i], column[i + detail::kFlatStrip / 2] += wide.high[i];
          std::memcpy(columns + at, column, bytes);
        });
    sum += squares.total();
  }
};

template <typename Number>
Adafactored<Number> elements_of(const AdafactorElements& of, double keep, double step) {
  using Scalar = FlatComputed<Number>;
  const bool factored = !of.variance.defined();
  return {.value = of.value.mutable_data_ptr<Number>(),
          .gradient = of.gradient.const_data_ptr<Number>(),
          .variance = factored ? nullptr : of.variance.const_data_ptr<Number>(),
          .rows = factored ? of.rows.const_data_ptr<Number>() : nullptr,
          .columns = factored ? of.columns.const_data_ptr<Number>() : nullptr,
          .first = of.lines.data(),
          .last = of.lines.data() + of.lines.size(),
          .least = static_cast<Scalar>(of.epsilon * of.epsilon),
          .keep = static_cast<Scalar>(keep),
          .step = static_cast<Scalar>(step)};
}

}  // namespace

void adafactor_add_squares(const at::Tensor& gradient, const std::vector<Line>& lines, double* rows,
                           double* columns) {
  if (!has_values()) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient.scalar_type(), "Adafactor", [&] {
    const auto* g = gradient.const_data_ptr<scalar_t>();
    const auto run = detail::compiled_for_this_processor<AdafactorLine<scalar_t>>();
    for (const Line& line : lines)
      run(AdafactorLine<scalar_t>{g + line.at, columns + line.column}, 0, line.size, rows[line.row]);
  });
}

double adafactor_squares(const AdafactorElements& of) {
  double sum = 0;
  if (!has_values() || of.gradient.numel() == 0) return sum;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Adafactor", [&] {
    sum = detail::in_parts(AdafactorSquares<scalar_t>{elements_of<scalar_t>(of, 1, 0)}, of.value.numel());
  });
  return sum;
}

void adafactor_apply(const AdafactorElements& of, double keep, double step) {
  if (!has_values() || of.gradient.numel() == 0) return;
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, of.value.scalar_type(), "Adafactor", [&] {
    detail::in_parts(AdafactorApply<scalar_t>{elements_of<scalar_t>(of, keep, step)}, of.value.numel());
  });
}

}  // namespace riesz
