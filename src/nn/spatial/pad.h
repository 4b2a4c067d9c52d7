// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "riesz/nn/module.h"
#include "riesz/nn/spatial/cached_function.h"
#include "riesz/nn/spatial/padding.h"

namespace riesz {

/// y = x with `before` and `after` further elements at the ends of each spatial dim, by `mode`. A list has
/// one number for all dims, or one for each. In the mode zeros they are `value`. Cost, where an axis shards a
/// spatial dim: as of a pooling (pool.h), by windows of one element.
class Pad : public Layer<Pad> {
 public:
  /// @throws Error naming the layer and the numbers where they do not fit.
  Pad(OwnerAndName place, const Space& X, const Space& Y, const std::vector<std::int64_t>& before,
      const std::vector<std::int64_t>& after, PaddingMode mode = PaddingMode::zeros, double value = 0);

  Vector forward(const Vector& x);

  std::string describe() const override;

 private:
  std::vector<std::int64_t> before_, after_;
  PaddingMode mode_;
  double value_;
  detail::CachedFunction functions_;
};

}  // namespace riesz
