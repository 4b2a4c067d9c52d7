// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/dropout_mask.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/util/accumulate.h>

#include <algorithm>

#include "riesz/nn/random/draw_each.h"
#include "riesz/nn/random/drop_elements.h"
#include "riesz/nn/random/dropped_there.h"
#include "riesz/nn/random/philox_words.h"
#include "riesz/nn/vectors/positions.h"

namespace riesz::detail {
namespace {

constexpr std::int64_t kLanesOfBlock = 4;                // draws of a block
constexpr std::int64_t kAtOnce = std::int64_t{1} << 20;  // counters that are computed at once, elsewhere

std::vector<std::int64_t> sizes_of(const Boxes& boxes) {
  std::vector<std::int64_t> sizes;
  for (const Intervals& held : boxes) sizes.push_back(total(held));
  return sizes;
}

at::Tensor drawn_in_memory(const DropoutDraws& draws, const at::TensorOptions& options) {
  const at::Tensor ones = at::ones(sizes_of(draws.boxes), options);
  if (!has_elements_to_drop(ones)) return drawn_in_memory(draws, options.dtype(at::kDouble)).to(options);
  if (has_values()) drop_elements(ones, draws, ones);
  return ones;
}

/// The global row-major index of each element of the boxes, flat.
at::Tensor global_indices(const std::vector<std::int64_t>& shape, const Boxes& boxes, at::Device device) {
  at::Tensor indices = at::zeros({}, at::device(device).dtype(at::kLong));
  std::int64_t stride = 1;
  for (std::size_t dim = boxes.size(); dim-- > 0; stride *= shape[dim]) {
    std::vector<std::int64_t> along(boxes.size() - dim, 1);
    along.front() = -1;
    indices = indices.add(positions(boxes[dim], device).mul(stride).view(along));
  }
  return indices.reshape({-1});
}

/// Does each run of the last dim have whole blocks of draws?
bool in_whole_blocks(const std::vector<std::int64_t>& shape, const Boxes& boxes) {
  if (boxes.empty() || shape.back() % kLanesOfBlock != 0) return false;
  return std::all_of(boxes.back().begin(), boxes.back().end(), [](const Interval& run) {
    return run.begin % kLanesOfBlock == 0 && run.end % kLanesOfBlock == 0;
  });
}

at::Tensor drawn_by_operators(const DropoutDraws& draws, const at::TensorOptions& options) {
  const std::vector<std::int64_t> sizes = sizes_of(draws.boxes);
  const at::Tensor mask = at::empty({c10::multiply_integers(sizes)}, options);
  if (mask.numel() == 0) return mask.view(sizes);
  const std::int64_t threshold = draws.threshold();
  const bool whole = in_whole_blocks(draws.shape, draws.boxes);
  std::vector<std::int64_t> counted = draws.shape;
  Boxes counters = draws.boxes;
  if (whole) {
    counted.back() /= kLanesOfBlock;
    for (Interval& run : counters.back()) run = {run.begin / kLanesOfBlock, run.end / kLanesOfBlock};
  }
  const at::Tensor all = global_indices(counted, counters, mask.device());
  const std::int64_t lanes = whole ? kLanesOfBlock : 1;
  for (std::int64_t begin = 0; begin < all.numel(); begin += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, all.numel() - begin);
    const at::Tensor part = all.narrow(0, begin, count);
    const PhiloxWords words = philox_words(draws.key, whole ? part : part.bitwise_right_shift(2), draws.step);
    at::Tensor drawn = at::stack(words, 1);
    if (!whole) drawn = drawn.gather(1, part.bitwise_and(kLanesOfBlock - 1).unsqueeze(1));
    mask.narrow(0, begin * lanes, count * lanes).copy_(drawn.ge(threshold).view({-1}));
  }
  return mask.mul_(draws.factor()).view(sizes);
}

at::Tensor drawn_there(const DropoutDraws& draws, const at::TensorOptions& options) {
  const at::Tensor mask = at::empty(sizes_of(draws.boxes), options);
  if (!has_elements_to_drop_there(mask, draws)) return drawn_by_operators(draws, options);
  drop_there({}, draws, mask);
  return mask;
}

}  // namespace

Dispatched<at::Tensor(const DropoutDraws&, const at::TensorOptions&)> dropout_mask_kernels{drawn_in_memory,
                                                                                           drawn_there};

at::Tensor dropout_mask(const DropoutDraws& draws, const at::TensorOptions& options) {
  return dropout_mask_kernels(options.device(), draws, options);
}

at::Tensor dropout_mask(const std::vector<std::int64_t>& shape, const Boxes& boxes, std::uint64_t key,
                        std::uint64_t step, double p, const at::TensorOptions& options) {
  return dropout_mask({shape, boxes, key, step, p}, options);
}

at::Tensor dropout_mask(const Space& X, std::uint64_t key, std::uint64_t step, double p,
                        const at::TensorOptions& options) {
  return dropout_mask({X.shape(), boxes_here(X), key, step, p}, options);
}

}  // namespace riesz::detail
