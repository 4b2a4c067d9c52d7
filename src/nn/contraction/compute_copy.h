// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace riesz::detail {

/// The copy of a parameter's leaf in a compute type, contiguous: made once, then shared until the leaf is
/// written, or `forget_compute_copies` is called. A freed leaf's copies are freed at the next call that makes
/// or forgets a copy. So all micro-batches and faces of a step read one copy. A write counts if it
/// raises the leaf's version, as each operation of torch's and each step of an optimizer does; a write
/// through `data()` or an address does not. Memory: the leaf's elements in the compute type. Local; safe to
/// call from several threads, and in several streams of a device.
at::Tensor compute_copy(const at::Tensor& leaf, at::ScalarType type);

/// Frees the copies of all leaves in this leaf's storage: other values come there, or none.
void forget_compute_copies(const at::Tensor& leaf);

/// How many copies this process has made.
std::int64_t compute_copies_made();

}  // namespace riesz::detail
