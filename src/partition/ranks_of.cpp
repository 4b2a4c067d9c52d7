// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/ranks_of.h"

#include <vector>

#include "riesz/comm/table_text.h"

namespace riesz {

std::string ranks_of(const Partition& P) {
  std::vector<int> ranks;
  for (int rank = 0; rank < P.size(); ++rank) ranks.push_back(P.world_rank(rank));
  return list_text(ranks);
}

}  // namespace riesz
