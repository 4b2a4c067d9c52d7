// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace riesz {

/// The bytes that a call of a region keeps on this worker until backward.
struct RegionBytes {
  std::string region;
  std::int64_t bytes = 0;  ///< of the call that keeps most

  bool operator==(const RegionBytes&) const = default;
};

/// The bytes of all regions called since the last call of this function, in the order of their first calls.
/// Only calls made while `Counters` kept records count. Local.
std::vector<RegionBytes> take_region_bytes();

namespace detail {

/// Records that a call of this region keeps these.
void count_kept(const std::string& region, const std::vector<at::Tensor>& kept);

}  // namespace detail
}  // namespace riesz
