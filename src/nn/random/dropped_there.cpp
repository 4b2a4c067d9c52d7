// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/random/dropped_there.h"

#include <optional>
#include <utility>

#include "riesz/comm/kernels/device_kernels.h"
#include "riesz/nn/random/dropped_element.h"

namespace riesz::detail {
namespace {

/// None if the boxes are cut in more dims, or into more pieces, than it has room for.
std::optional<HeldElements> held_elements(const DropoutDraws& draws) {
  HeldElements all{};
  std::int64_t behind = 1;  // elements of the dims behind
  std::size_t dim = draws.boxes.size();
  // From the last dim on; turned round at the end.
  while (dim > 0) {
    std::int64_t whole = 1;  // of the dims that are held whole
    while (dim > 1 && draws.boxes[dim - 1] == Intervals{{0, draws.shape[dim - 1]}})
      whole *= draws.shape[--dim];
    const Intervals& cut = draws.boxes[--dim];
    if (all.dims == HeldElements::kMostDims || cut.size() > HeldElements::kMostIntervals || cut.empty())
      return std::nullopt;
    const int at = all.dims++;
    all.stride[at] = behind;
    all.intervals[at] = static_cast<int>(cut.size());
    for (std::size_t i = 0; i < cut.size(); ++i) {
      all.begin[at][i] = cut[i].begin * whole, all.size[at][i] = cut[i].size() * whole;
      all.held[at] += all.size[at][i];
    }
    behind *= whole * draws.shape[dim];
  }
  for (int i = 0, j = all.dims - 1; i < j; ++i, --j) {
    std::swap(all.held[i], all.held[j]), std::swap(all.stride[i], all.stride[j]);
    std::swap(all.intervals[i], all.intervals[j]);
    std::swap(all.begin[i], all.begin[j]), std::swap(all.size[i], all.size[j]);
  }
  return all;
}

template <typename T>
void drop_all_there(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y) {
  using Wide = kernels::Wide<T>;
  const Wide factor = kernels::widened(kernels::narrowed<T>(static_cast<Wide>(draws.factor())));
  const std::int64_t count = y.numel();
  queue_kernel(y.device(), (count + 3) / 4, 4,
               DroppedElements<T>{*held_elements(draws), draws.key, draws.step, draws.threshold(), factor,
                                  count, x.defined() ? static_cast<const T*>(x.const_data_ptr()) : nullptr,
                                  static_cast<T*>(y.mutable_data_ptr())});
}

}  // namespace

bool has_elements_to_drop_there(const at::Tensor& like, const DropoutDraws& draws) {
  const at::ScalarType type = like.scalar_type();
  const bool number = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  return number && !like.is_neg() && has_kernel<DroppedElements<float>>(like.device()) &&
         (volume(draws.boxes) == 0 || held_elements(draws).has_value());
}

void drop_there(const at::Tensor& x, const DropoutDraws& draws, const at::Tensor& y) {
  if (y.numel() == 0) return;
  switch (y.scalar_type()) {
    case at::kDouble:
      return drop_all_there<double>(x, draws, y);
    case at::kHalf:
      return drop_all_there<kernels::Half>(x, draws, y);
    case at::kBFloat16:
      return drop_all_there<kernels::BFloat16>(x, draws, y);
    default:
      return drop_all_there<float>(x, draws, y);
  }
}

}  // namespace riesz::detail
