// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/lift.h"

#include "riesz/comm/error.h"

namespace riesz {

bool fits_into(const Partition& P, const Partition& Q) {
  for (const Axis& axis : P.axes()) {
    if (axis.extent > 1 && (Q.find(axis.name) < 0 || Q.extent(axis.name) != axis.extent)) return false;
  }
  return true;
}

std::vector<int> new_axes(const Partition& P, const Partition& Q) {
  std::vector<int> positions;
  for (int a = 0; a < static_cast<int>(Q.axes().size()); ++a) {
    const Axis& axis = Q.axes()[static_cast<std::size_t>(a)];
    const bool in_P = P.find(axis.name) >= 0 && P.extent(axis.name) == axis.extent;
    if (axis.extent > 1 && !in_P) positions.push_back(a);
  }
  return positions;
}

Space lift(const Space& X, const Partition& Q, Placement placement) {
  const Partition& P = X.partition();
  RIESZ_CHECK(fits_into(P, Q), "no broadcast from ", to_string(P), " to ", to_string(Q),
              ": each axis of the first with more than one worker must be on the second, with the same extent");
  Space Y(Q, X.shape());
  for (int dim = 0; dim < X.dims(); ++dim) {
    Y = Y.unit(dim, X.unit_of(dim));
    for (const Shard& shard : X.shards(dim)) {
      const Axis& axis = P.axes()[static_cast<std::size_t>(shard.axis)];
      if (axis.extent == 1) continue;
      Y = shard.split ? Y.sharded(dim, axis.name, *shard.split) : Y.sharded(dim, axis.name);
    }
  }
  for (int a = 0; a < static_cast<int>(P.axes().size()); ++a) {
    const Axis& axis = P.axes()[static_cast<std::size_t>(a)];
    if (axis.extent > 1 && X.placement(a) != Placement::Sharded) Y = Y.placed(axis.name, X.placement(a));
  }
  for (const int a : new_axes(P, Q)) Y = Y.placed(Q.axes()[static_cast<std::size_t>(a)].name, placement);
  return Y;
}

int project(const Partition& P, const Partition& Q, int rank) {
  std::vector<int> at;
  for (const Axis& axis : P.axes()) {
    const int a = Q.find(axis.name);
    at.push_back(axis.extent == 1 ? 0 : Q.coordinates(rank)[static_cast<std::size_t>(a)]);
  }
  return P.rank_of(at);
}

std::vector<int> fibre_above(const Partition& P, const Partition& Q, int rank) {
  std::vector<int> at;
  for (const Axis& axis : Q.axes()) {
    const int a = P.find(axis.name);
    const bool shared = a >= 0 && P.extent(axis.name) == axis.extent;
    at.push_back(shared ? P.coordinates(rank)[static_cast<std::size_t>(a)] : 0);
  }
  return Q.fibre(Q.rank_of(at), new_axes(P, Q));
}

}  // namespace riesz
