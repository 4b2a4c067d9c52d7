// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz {

/// y = the combination of x_0 … x_{p−1} element by element, on every worker of the fibre of `axes` of the
/// domain's grid, through this worker: a reduce-scatter of flat, balanced chunks in which each worker
/// combines its own in rank order, then an all-gather of them. So all workers have the same bits. Cost, with
/// c_r = balanced chunk of worker r: (n − c_r) + (p − 1)·c_r elements, 2(p−1)/p·n where p divides n.
at::Tensor reduce_fibre(
    const Operation& operation, const Partition& partition, const std::vector<int>& axes, const at::Tensor& x,
    const std::function<void(const std::vector<at::Tensor>& terms, const at::Tensor& y)>& combine);

namespace primitives {

/// AllReduce: Partial → Replicated or Copied on the axes. y_r = Σ x_s over the fibre, in rank order (bf16 and
/// fp16 in fp32), the same bits on all workers. Adjoint: Copy, Replicated → Copied, of the first form; the
/// second form is its own adjoint, Partial → Copied. Cost: 2(p − 1)/p·n elements and 2(p − 1) messages leave
/// each worker where p divides n; in general (n − c_r) + (p − 1)·c_r elements, c_r the size of chunk r of
/// Split::balanced(n, p).
Step all_reduce(const Space& X, const Space& Y, const std::vector<int>& axes);

}  // namespace primitives
}  // namespace riesz
