// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/box_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

/// The inner loop; a size known to the compiler becomes a load and a store.
template <std::size_t kBytes>
void copy_runs(const std::byte* from, std::byte* to, const BoxCopy::Loop& loop) {
  for (std::int64_t i = 0; i < loop.count; ++i) {
    std::memcpy(to + i * loop.to_stride, from + i * loop.from_stride, kBytes);
  }
}

void copy_runs(const std::byte* from, std::byte* to, const BoxCopy::Loop& loop, std::size_t bytes) {
  switch (bytes) {
    case 2:
      return copy_runs<2>(from, to, loop);
    case 4:
      return copy_runs<4>(from, to, loop);
    case 8:
      return copy_runs<8>(from, to, loop);
    case 16:
      return copy_runs<16>(from, to, loop);
    case 32:
      return copy_runs<32>(from, to, loop);
    default:
      break;
  }
  for (std::int64_t i = 0; i < loop.count; ++i) {
    std::memcpy(to + i * loop.to_stride, from + i * loop.from_stride, bytes);
  }
}

/// Loops in bytes, the innermost last.
void copy_loops(const std::byte* from, std::byte* to, const BoxCopy::Loop* loop, std::size_t left,
                std::size_t bytes) {
  if (left == 0) {
    std::memcpy(to, from, bytes);
    return;
  }
  if (left == 1) return copy_runs(from, to, *loop, bytes);
  for (std::int64_t i = 0; i < loop->count; ++i) {
    copy_loops(from + i * loop->from_stride, to + i * loop->to_stride, loop + 1, left - 1, bytes);
  }
}

}  // namespace

BoxCopy box_copy(const std::vector<std::int64_t>& from_shape, const Box& in_from,
                 const std::vector<std::int64_t>& to_shape, const Box& in_to) {
  BoxCopy copy;
  std::int64_t from_stride = 1;
  std::int64_t to_stride = 1;
  for (std::size_t dim = from_shape.size(); dim-- > 0;) {
    const std::int64_t count = in_from[dim].size();
    copy.from += in_from[dim].begin * from_stride;
    copy.to += in_to[dim].begin * to_stride;
    const bool one_piece = copy.loops.empty() && copy.run == from_stride && copy.run == to_stride;
    if (one_piece) {
      copy.run *= count;
    } else if (count != 1) {
      copy.loops.insert(copy.loops.begin(), {count, from_stride, to_stride});
    }
    from_stride *= from_shape[dim];
    to_stride *= to_shape[dim];
  }
  return copy;
}

void copy_box(const at::Tensor& from, const at::Tensor& to, const BoxCopy& copy) {
  if (!has_values()) return;
  copy_box(static_cast<const std::byte*>(from.const_data_ptr()),
           static_cast<std::byte*>(to.mutable_data_ptr()), copy,
           static_cast<std::int64_t>(from.element_size()));
}

void copy_pieces(const std::byte* from, std::byte* to, const BoxCopy& copy, std::int64_t size) {
  BoxCopy::Loop loops[64];  // a tensor has no more dims
  const std::size_t count = std::min<std::size_t>(copy.loops.size(), 64);
  for (std::size_t i = 0; i < count; ++i) {
    loops[i] = {copy.loops[i].count, copy.loops[i].from_stride * size, copy.loops[i].to_stride * size};
  }
  copy_loops(from + copy.from * size, to + copy.to * size, loops, count,
             static_cast<std::size_t>(copy.run * size));
}

}  // namespace riesz
