// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// The learning-rate range test (Smith, 1506.01186), as DeepSpeed's LRRangeTest: a rate that grows until
/// training breaks, least·(1 + growth·t/interval) at step t, counted from 0. A pure function of the step.
struct RateRangeTest {
  double least = 1e-3;
  double growth = 1;  ///< per interval
  std::int64_t interval = 2000;
  bool stairs = false;  ///< t/interval rounded down

  /// @throws Error naming what is out of range.
  double learning_rate(std::int64_t step) const;
};

}  // namespace riesz
