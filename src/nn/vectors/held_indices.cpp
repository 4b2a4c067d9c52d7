// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/held_indices.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/logical_and.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "riesz/comm/without_values.h"

namespace riesz::detail {

namespace {

/// A pass over plain numbers, in place of several calls of torch for each interval.
HeldIndices held_numbers(const at::Tensor& indices, const Intervals& held) {
  HeldIndices found{at::empty_like(indices), at::empty(indices.sizes(), indices.options().dtype(at::kBool))};
  const std::int64_t* const index = indices.const_data_ptr<std::int64_t>();
  std::int64_t* const local = found.local.mutable_data_ptr<std::int64_t>();
  bool* const elsewhere = found.elsewhere.mutable_data_ptr<bool>();
  for (std::int64_t i = 0; i < indices.numel(); ++i) {
    local[i] = 0, elsewhere[i] = true;
    std::int64_t first = 0;
    for (const Interval& part : held) {
      if (index[i] >= part.begin && index[i] < part.end)
        local[i] = index[i] + first - part.begin, elsewhere[i] = false;
      first += part.size();
    }
  }
  return found;
}

HeldIndices held_by_operators(const at::Tensor& indices, const Intervals& held) {
  HeldIndices found{at::zeros_like(indices), at::ones_like(indices, indices.options().dtype(at::kBool))};
  std::int64_t first = 0;
  for (const Interval& part : held) {
    const at::Tensor here = at::logical_and(indices.ge(part.begin), indices.lt(part.end));
    found.local = at::where(here, indices.add(first - part.begin), found.local);
    found.elsewhere.masked_fill_(here, false);
    first += part.size();
  }
  return found;
}

HeldIndices held_in_memory(const at::Tensor& indices, const Intervals& held) {
  const bool plain = indices.scalar_type() == at::kLong && indices.is_contiguous() && has_values();
  return plain ? held_numbers(indices, held) : held_by_operators(indices, held);
}

}  // namespace

Dispatched<HeldIndices(const at::Tensor&, const Intervals&)> held_indices_kernels{held_in_memory,
                                                                                  held_by_operators};

HeldIndices held_indices(const at::Tensor& indices, const Intervals& held) {
  return held_indices_kernels(indices.device(), indices, held);
}

}  // namespace riesz::detail
