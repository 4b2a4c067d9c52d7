// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz::detail {

// Norms of contiguous rows x (m, n) in fp32, bf16 or fp16, on a CPU or on a device that has the kernels,
// computed in fp32 in several threads:
//
//     y = (x − mean)·scale·weight + bias        scale = 1/√(mean((x − mean)²) + ε)
//
// With an undefined bias it is RMSNorm: mean is 0. Weight and bias (n) are in fp32. The bits of a row depend
// on its elements and the processor alone.

/// Are there kernels for this device?
bool has_norm_rows(at::Device device);

struct NormedRows {
  at::Tensor y;            ///< in x's type
  at::Tensor mean, scale;  ///< (m) in fp32; mean is undefined without a bias
};

/// x is read once from memory, y is written once. The mean is summed before the squares, so that x with a
/// large mean loses no digits.
NormedRows norm_rows(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon);

/// y, with the same bits, of x and what `norm_rows` gave; `rows.y` is not read.
at::Tensor norm_rows_again(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                           const NormedRows& rows);

struct NormGradients {
  at::Tensor x;  ///< (m, n) in x's type
  at::Tensor weight,
      bias;  ///< (n) in fp32, undefined unless `of_weights`; bias also where `rows.mean` is undefined
};

/// The gradients from ȳ; `rows.y` is not read. Rows are added in parts, and parts in order. Their number
/// depends on m and on whether this is a CPU, so the bits do not depend on the number of threads.
NormGradients norm_rows_gradients(const at::Tensor& ybar, const at::Tensor& x, const at::Tensor& weight,
                                  const NormedRows& rows, bool of_weights = true);

}  // namespace riesz::detail
