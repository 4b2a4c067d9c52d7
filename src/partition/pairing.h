// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <complex>
#include <string>
#include <vector>

#include "riesz/comm/operation.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// Gathers every worker's tensor, by rank, on every worker of the partition; all have one shape. Without
/// gradient. Collective over the partition; (p − 1)·n elements leave each worker. The counters name it
/// `operation`.
std::vector<at::Tensor> collect(const Operation& operation, const Partition& partition,
                                const at::Tensor& mine);

/// The inner product ⟨x, y⟩ of the vectors meant, for x in X and y in X*: Σ x_r·y_r over the workers in fp64,
/// a Replicated axis counted once. Collective over the partition, the same bits on all its workers; 0 outside
/// it.
/// @throws Error naming both spaces unless y's is dual to x's, and both tensors are on one device.
/// For complex vectors use complex_pairing.
double pairing(const Vector& x, const Vector& y);

/// The same of complex vectors: Σ conj(x_r)·y_r. Real A have the adjoint Aᵀ = Aᴴ, so operators that move and
/// add are adjoint in it as they are.
std::complex<double> complex_pairing(const Vector& x, const Vector& y);

}  // namespace riesz
