// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

/// A norm over the last dim of x (…, n), n whole on this worker, of a weight and a bias of n elements:
///
///     y = (x − mean)/√(mean((x − mean)²) + ε)·weight + bias
///
/// With an undefined bias it is RMSNorm: mean is 0. On a CPU a kernel computes it where all are of one type,
/// fp32, bf16 or fp16, in one pass over memory each way. It saves x, two numbers a row (RMSNorm: one), and
/// fp32 copies of weight and bias, because ZeRO may move a parameter's memory. From these it gives y again
/// (`Node::again`), so a contraction that reads y keeps no y. Elsewhere it is LibTorch's operator. Half types
/// are computed with in fp32. Local. Differentiable, again and again.
at::Tensor row_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon);

/// The same by LibTorch's operators alone.
at::Tensor row_norm_by_operators(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                                 double epsilon);

}  // namespace riesz::detail
