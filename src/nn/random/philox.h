// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace riesz {

/// Philox4x32-10: four 32-bit words, a function of key and counter alone (Salmon et al., SC'11). So a draw depends on
/// neither partition nor order, and the same element has the same draw at every layout.
std::array<std::uint32_t, 4> philox(std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high = 0);

/// The key of a stream of draws: of a run's seed and a name, such as a parameter's.
std::uint64_t philox_key(std::uint64_t seed, std::string_view name);

}  // namespace riesz
