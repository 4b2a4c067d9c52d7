// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

namespace riesz::detail {

/// The four words of each block of draws, in int64.
using PhiloxWords = std::array<at::Tensor, 4>;

/// The words of `philox` for each of many counters, int64 and not negative, computed where these lie. Only
/// operators of integers, so every device gives the same bits. Cost: 120 operators on tensors of the
/// counters' size.
PhiloxWords philox_words(std::uint64_t key, const at::Tensor& counter_low, std::uint64_t counter_high);

}  // namespace riesz::detail
