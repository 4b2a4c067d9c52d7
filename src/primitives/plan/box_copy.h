// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// A copy of a box from one row-major tensor into another: runs of elements under as few nested loops as
/// possible.
struct BoxCopy {
  struct Loop {
    std::int64_t count;
    std::int64_t from_stride;
    std::int64_t to_stride;
  };

  std::int64_t from = 0;  ///< the first element's number
  std::int64_t to = 0;
  std::int64_t run = 1;     ///< elements in one piece
  std::vector<Loop> loops;  ///< outermost first

  /// True if the box is contiguous in both tensors.
  bool contiguous() const { return loops.empty(); }
};

/// The copy of the box `in_from` of a tensor to the box `in_to`, of the same size, of another.
BoxCopy box_copy(const std::vector<std::int64_t>& from_shape, const Box& in_from,
                 const std::vector<std::int64_t>& to_shape, const Box& in_to);

/// Copies between contiguous tensors of one type in host memory.
void copy_box(const at::Tensor& from, const at::Tensor& to, const BoxCopy& copy);
/// The same between two places, with elements of `size` bytes; of a box that is not contiguous.
void copy_pieces(const std::byte* from, std::byte* to, const BoxCopy& copy, std::int64_t size);
/// The same of any box.
inline void copy_box(const std::byte* from, std::byte* to, const BoxCopy& copy, std::int64_t size) {
  if (!copy.contiguous()) return copy_pieces(from, to, copy, size);
  std::memcpy(to + copy.to * size, from + copy.from * size, static_cast<std::size_t>(copy.run * size));
}

}  // namespace riesz
