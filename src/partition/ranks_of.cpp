// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/partition/ranks_of.h"

namespace riesz {

std::string ranks_of(const Partition& P) {
  std::string text;
  for (int rank = 0; rank < P.size(); ++rank)
    text += (rank == 0 ? "" : ", ") + std::to_string(P.world_rank(rank));
  return text;
}

}  // namespace riesz
