// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// Synthetic grey images for semantic segmentation: discs and ellipses on a darker background, with noise. A
/// pixel's label is background, disc or ellipse. Each image has 4 to 8 of them ("cells"), ellipses at any
/// angle; a later one lies above an earlier one. An image is a function of (seed, its number), and a pixel of
/// its place in it. So every worker can make any box of any image by itself.
class CellImages {
 public:
  static constexpr std::int64_t labels = 3;
  static constexpr std::array<const char*, labels> names{"background", "disc", "ellipse"};

  /// Images have size × size pixels. @throws Error unless size is at least 16.
  CellImages(std::int64_t size, std::uint64_t seed);

  std::int64_t size() const { return size_; }
  /// Pixels of these images, in these rows and columns: (images, 1, rows, columns), fp32, of mean about 0
  /// and standard deviation about 1.
  at::Tensor pixels(const std::vector<std::int64_t>& numbers, const Interval& rows,
                    const Interval& columns) const;
  /// Their labels: (images, rows, columns), int64.
  at::Tensor label_maps(const std::vector<std::int64_t>& numbers, const Interval& rows,
                        const Interval& columns) const;

 private:
  struct Cell;
  std::vector<Cell> cells_of(std::int64_t number) const;

  std::int64_t size_;
  std::uint64_t seed_;
  std::uint64_t noise_;  // a key
};

}  // namespace riesz
