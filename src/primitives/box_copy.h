// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "riesz/partition/interval.h"

namespace riesz {

/// How a box goes from one row-major tensor into another: runs of elements under nested loops, as few as
/// there can be.
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

  /// Is the box one piece in both tensors?
  bool contiguous() const { return loops.empty(); }
};

/// The copy of `in_from`, a box of a tensor of one shape, to `in_to`, as large, of a tensor of another.
BoxCopy box_copy(const std::vector<std::int64_t>& from_shape, const Box& in_from,
                 const std::vector<std::int64_t>& to_shape, const Box& in_to);

/// Copies between contiguous tensors of one type in host memory.
void copy_box(const at::Tensor& from, const at::Tensor& to, const BoxCopy& copy);

}  // namespace riesz
