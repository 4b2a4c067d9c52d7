// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "riesz/partition/space.h"

namespace riesz {

// Random numbers that depend on neither partition nor order: a draw is a function of a key and of the global
// index of its element, so it has the same bits at every layout.

/// The key of a stream of draws, such as a parameter's: of a run's seed and a name.
std::uint64_t philox_key(std::uint64_t seed, std::string_view name);

/// This worker's part of a vector of X whose element of global row-major index i is a standard normal draw of
/// (key, i): Box-Muller on Philox words, in fp64, on the CPU.
at::Tensor normal(const Space& X, std::uint64_t key);

/// Likewise of draws strictly between 0 and 1: (w + 1/2)/2³² of the Philox word w of (key, i).
at::Tensor uniform(const Space& X, std::uint64_t key);

/// The same draws of the elements of these global row-major indices, flat, in their order.
at::Tensor normal(const Intervals& indices, std::uint64_t key);
at::Tensor uniform(const Intervals& indices, std::uint64_t key);

/// Philox4x32-10: four 32-bit words, a function of key and counter alone (Salmon et al., SC'11).
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low,
                                    std::uint64_t counter_high = 0);

}  // namespace riesz
