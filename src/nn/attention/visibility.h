// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "riesz/partition/interval.h"

namespace riesz::detail {

/// Which positions of k a position of q sees: row t of q stands at position t + offset of k's.
struct Visibility {
  bool causal = false;                 ///< none after its own
  std::int64_t offset = 0;             ///< counts only if causal, as the window does
  std::optional<std::int64_t> window;  ///< its own and those just before, so many in all

  /// The columns that at least one of the rows sees.
  Interval seen(const Interval& rows, const Interval& columns) const;
  /// Does each of the rows see all of the columns?
  bool all_seen(const Interval& rows, const Interval& columns) const;
  /// Does row number r see exactly the columns up to number r?
  bool corner(const Interval& rows, const Interval& columns) const;
  /// Which row sees which column, as booleans of (rows, columns) on a device.
  at::Tensor mask(const Intervals& rows, const Intervals& columns, at::Device device) const;
};

}  // namespace riesz::detail
