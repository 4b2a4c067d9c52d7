// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "riesz/comm/dispatched.h"

namespace riesz {

/// The sum of `terms` in their order, which callers make the rank order. So sums depend neither on an MPI
/// library's algorithm nor on buckets, and replicas agree bit for bit. Elements of bf16 and fp16 are added in
/// fp32 and rounded once. Up to 32 terms are added from left to right. More are halved, again and again, into
/// runs of at most 32; the sums of two halves are added. There is at least one term; a single one is returned
/// as it is.
at::Tensor ordered_sum(const std::vector<at::Tensor>& terms);
/// The same, written to y, which has the terms' shape and type.
void ordered_sum_to(const std::vector<at::Tensor>& terms, const at::Tensor& y);

/// The kernels: of `ordered_sum` for two terms or more, and of `ordered_sum_to` for any number.
extern Dispatched<at::Tensor(const std::vector<at::Tensor>& terms)> ordered_sum_kernels;
extern Dispatched<void(const std::vector<at::Tensor>& terms, const at::Tensor& y)> ordered_sum_to_kernels;

/// The same sum of `count` elements each in host memory, in one pass, into each of `outs`, which may be
/// terms. With `add`, outs += the sum: bf16 and fp16 are then rounded twice. Large results bypass the caches.
void ordered_sum_into(const std::vector<const std::byte*>& terms, const std::vector<std::byte*>& outs,
                      std::int64_t count, at::ScalarType type, bool add);

/// True for a type that `ordered_sum_into` reads at any address; terms of others are aligned as their
/// elements are.
bool sums_at_any_address(at::ScalarType type);

/// Copies within host memory; large copies bypass the caches.
void copy_bytes(std::byte* to, const std::byte* from, std::int64_t bytes);

/// The type in which elements of `type` are added: fp32 for bf16 and fp16, else the type itself.
at::ScalarType accumulation_type(at::ScalarType type);

}  // namespace riesz
