// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace riesz {

/// Σ terms in their order, which callers make the rank order, so that a sum depends neither on an MPI
/// library's algorithm nor on buckets, and replicas agree bit for bit. bf16 and fp16 are added in fp32 and
/// rounded once. Up to 32 terms from left to right; more by one fixed binary tree, whatever their size. At
/// least one term; a single one is returned as it is.
at::Tensor ordered_sum(const std::vector<at::Tensor>& terms);
/// The same into y, of their shape and type.
void ordered_sum_to(const std::vector<at::Tensor>& terms, const at::Tensor& y);

/// The same sum of `count` elements each in host memory, in one pass, into each of `outs`, which may be
/// terms; with `add`, outs += the sum. Where it is large, what is written does not go through the caches.
void ordered_sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                      std::int64_t count, at::ScalarType type, bool add);

/// A copy within host memory, past the caches where it is large.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

/// What sums of elements of this type are added in: fp32 for bf16 and fp16, else the type itself.
at::ScalarType accumulation_type(at::ScalarType type);

}  // namespace riesz
