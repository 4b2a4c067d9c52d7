// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/recompute/region_bytes.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "riesz/comm/counters.h"

namespace riesz {
namespace {

std::mutex of_all_regions;
std::vector<RegionBytes> all_regions;

}  // namespace

std::vector<RegionBytes> take_region_bytes() {
  const std::lock_guard lock(of_all_regions);
  return std::exchange(all_regions, {});
}

void detail::count_kept(const std::string& region, const std::vector<at::Tensor>& kept) {
  if (!Counters::instance().recording()) return;
  std::int64_t bytes = 0;
  for (const at::Tensor& each : kept) bytes += static_cast<std::int64_t>(each.nbytes());
  const std::lock_guard lock(of_all_regions);
  const auto known = std::find_if(all_regions.begin(), all_regions.end(),
                                  [&](const RegionBytes& each) { return each.region == region; });
  if (known == all_regions.end())
    all_regions.push_back({region, bytes});
  else
    known->bytes = std::max(known->bytes, bytes);
}

}  // namespace riesz
