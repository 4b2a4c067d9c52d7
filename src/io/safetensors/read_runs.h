// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/io/file.h"
#include "riesz/io/safetensors/header.h"

namespace riesz {

/// Reads elements of a stored tensor, one interval after another, into `out`, which is flat and contiguous.
/// They go straight into its memory where it is of the same type and on the CPU, else a few megabytes at a
/// time. Neighbours a page apart or less are read at once. @pre Σ sizes of `wanted` == out.numel()
/// @throws Error as `File::read`.
void read_runs(const File& file, const StoredTensor& tensor, const Intervals& wanted, const at::Tensor& out);

}  // namespace riesz
