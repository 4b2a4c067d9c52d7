// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/visibility.h"

#include <ATen/ops/le.h>
#include <ATen/ops/ones.h>

#include <limits>

#include "riesz/nn/vectors/positions.h"

namespace riesz::detail {
Interval Visibility::seen(const Interval& rows, const Interval& columns) const {
  if (!causal) return columns;
  if (rows.size() <= 0) return {columns.begin, columns.begin};
  constexpr std::int64_t from_the_first = std::numeric_limits<std::int64_t>::min();
  const std::int64_t first = window ? rows.begin + offset - *window + 1 : from_the_first;
  return intersect(columns, {first, std::max(first, rows.end + offset)});
}

bool Visibility::all_seen(const Interval& rows, const Interval& columns) const {
  if (!causal) return true;
  const bool none_later = columns.end <= rows.begin + offset + 1;
  return none_later && (!window || columns.begin + *window >= rows.end + offset);
}

bool Visibility::corner(const Interval& rows, const Interval& columns) const {
  return causal && columns.begin == rows.begin + offset && (!window || *window >= rows.size());
}

at::Tensor Visibility::mask(const Intervals& rows, const Intervals& columns, at::Device device) const {
  if (!causal) return at::ones({total(rows), total(columns)}, at::device(device).dtype(at::kBool));
  const at::Tensor own = positions(rows, device).add(offset).unsqueeze(1);
  const at::Tensor at = positions(columns, device).unsqueeze(0);
  const at::Tensor up_to_own = at::le(at, own);
  return window ? up_to_own.logical_and(at.gt(own.sub(*window))) : up_to_own;
}

}  // namespace riesz::detail
