// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

namespace riesz {

// Passes of 1-bit Adam over flat tensors of one type, on the host. An element's bits depend on the element
// alone. `bytes` has signs as `pack_signs` packs them.

/// e ← keep·x + scale·g + e in one pass, with the signs of e to `bytes`. An undefined g is left out. Returns
/// Σ e² in fp64; the order of the sum depends on the size alone.
double one_bit_compress(const at::Tensor& x, double keep, const at::Tensor& g, double scale,
                        const at::Tensor& error, const at::Tensor& bytes);

/// e ← e − scale·sign e, in one pass. Zero counts as +1.
void one_bit_lose(const at::Tensor& error, double scale);

/// x ← scale·(the signs), in one pass that only writes x.
void one_bit_set(const at::Tensor& bytes, double scale, const at::Tensor& x);

/// Where v is 0, m ← 0; then w ← keep·w − step·m/(second_scale·√v + ε), in one pass.
void one_bit_apply(const at::Tensor& value, const at::Tensor& momentum, const at::Tensor& variance,
                   double keep, double step, double second_scale, double epsilon);

}  // namespace riesz
