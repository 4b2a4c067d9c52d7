// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/optim/store.h"

#include <utility>

namespace riesz {

void Store::know_finite(const std::vector<Share>& shares) {
  finite_.emplace();
  for (const Share& share : shares) finite_->push_back({share.gradient, share.gradient._version()});
}

std::optional<std::vector<Share>> Store::changed_since_finite(const std::vector<Share>& shares) {
  if (!finite_) return std::nullopt;
  const std::vector<Seen> seen = *std::exchange(finite_, std::nullopt);
  std::vector<Share> changed;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const at::Tensor& now = shares[i].gradient;
    const bool same = i < seen.size() && now.is_alias_of(seen[i].gradient) &&
                      now.storage_offset() == seen[i].gradient.storage_offset() &&
                      now._version() == seen[i].version;
    if (!same) changed.push_back(shares[i]);
  }
  return changed;
}

}  // namespace riesz
