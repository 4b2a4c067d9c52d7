// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/verify/pieces.h"

#include "riesz/comm/label.h"

namespace riesz::app {

Pieces pieces_of(const std::vector<Space>& spaces, const Partition& job) {
  Pieces pieces;
  for (const Axis& axis : job.axes()) {
    std::vector<DigestBuilder> all(static_cast<std::size_t>(axis.extent));
    for (const Space& X : spaces) {
      const Partition& P = X.partition();
      const int position = P.find(axis.name);
      if (!P.active() || position < 0 || X.placement(axis.name) != Placement::Sharded) continue;
      std::vector<int> at = P.coordinates(P.rank());
      for (int c = 0; c < axis.extent; ++c) {
        at[static_cast<std::size_t>(position)] = c;
        for (const Intervals& held : X.boxes(P.rank_of(at)))
          all[static_cast<std::size_t>(c)].mix(static_cast<std::uint64_t>(total(held)));
      }
    }
    pieces.emplace_back();
    for (const DigestBuilder& digest : all) pieces.back().push_back(digest.value());
  }
  return pieces;
}

}  // namespace riesz::app
