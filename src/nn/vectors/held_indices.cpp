// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/held_indices.h"

#include <ATen/ops/logical_and.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

namespace riesz::detail {

HeldIndices held_indices(const at::Tensor& indices, const Intervals& held) {
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

}  // namespace riesz::detail
