// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/comm/kernels/list.h"
#include "riesz/comm/kernels/stored.h"
#include "riesz/nn/random/philox_block.h"

namespace riesz::detail {

/// x·(factor where an element is kept, else 0), of the element's word.
template <typename Number>
RIESZ_ELEMENT Number dropped_number(Number x, std::uint32_t word, std::uint32_t threshold, Number factor) {
  const Number kept = word < threshold ? Number(0) : factor;
  return x * kept;
}

/// The elements of boxes of a global shape, by few numbers: dims that are held whole are one with the dim
/// before. `dropped_there.cpp` makes it.
struct HeldElements {
  static constexpr int kMostDims = 4, kMostIntervals = 4;

  int dims;
  std::int64_t held[kMostDims];    ///< how many indices of a dim are held
  std::int64_t stride[kMostDims];  ///< of the global row-major index
  int intervals[kMostDims];
  std::int64_t begin[kMostDims][kMostIntervals], size[kMostDims][kMostIntervals];

  /// The global row-major index of a local one.
  RIESZ_ELEMENT std::int64_t global(std::int64_t local) const {
    std::int64_t index = 0;
    for (int dim = dims - 1; dim >= 0; --dim) {
      std::int64_t along = local % held[dim];
      local /= held[dim];
      int interval = 0;
      while (interval + 1 < intervals[dim] && along >= size[dim][interval]) along -= size[dim][interval++];
      index += (begin[dim][interval] + along) * stride[dim];
    }
    return index;
  }
};

/// Elements 4i to 4i + 3 of what is held: y = `dropped_number` of x, or of ones where x is null. Elements of
/// one block of draws share it. y may be x.
template <typename T>
struct DroppedElements {
  HeldElements elements;
  std::uint64_t key, step;
  std::uint32_t threshold;
  kernels::Wide<T> factor;  ///< rounded to T
  std::int64_t count;
  const T* x;
  T* y;

  RIESZ_ELEMENT void operator()(std::int64_t i) const {
    using Wide = kernels::Wide<T>;
    const std::int64_t end = 4 * i + 4 < count ? 4 * i + 4 : count;
    std::int64_t drawn = -1;
    PhiloxBlock block{};
    for (std::int64_t at = 4 * i; at < end; ++at) {
      const std::int64_t global = elements.global(at);
      if (global / 4 != drawn) {
        drawn = global / 4;
        block = philox_block(key, static_cast<std::uint64_t>(drawn), step);
      }
      const Wide value = x == nullptr ? Wide(1) : kernels::widened(x[at]);
      y[at] = kernels::narrowed<T>(dropped_number(value, block.word[global % 4], threshold, factor));
    }
  }
};

using DropKernels = kernels::KernelList<DroppedElements<float>, DroppedElements<double>,
                                        DroppedElements<kernels::BFloat16>, DroppedElements<kernels::Half>>;

}  // namespace riesz::detail
