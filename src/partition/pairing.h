// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// Gathers every worker's tensor, by rank, on every worker of the partition; all have one shape. Others get
/// an empty list. Without gradient. Collective over the partition; (p − 1)·n elements leave each worker. The
/// counters name it `operation`.
std::vector<at::Tensor> collect(const Operation& operation, const Partition& partition,
                                const at::Tensor& mine);

/// The inner product ⟨x, y⟩ of the vectors meant, for x in X and y in X*. It is Σ x_r·y_r over the workers in
/// fp64; a Replicated axis counts once. Collective over the partition, the same bits on all its workers; 0
/// outside it.
/// @throws Error naming both spaces unless y's is dual to x's, and both tensors are on one device.
/// @throws Error for complex vectors: use complex_pairing.
double pairing(const Vector& x, const Vector& y);

/// The same of complex vectors: Σ conj(x_r)·y_r. A real matrix A has Aᵀ = Aᴴ. So operators that move and add
/// have the same adjoint in this product.
std::complex<double> complex_pairing(const Vector& x, const Vector& y);

}  // namespace riesz
