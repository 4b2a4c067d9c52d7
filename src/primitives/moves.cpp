// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/moves.h"

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/moves/move.h"

namespace riesz {

Space rotated(const Space& X, const std::string& axis, int k) {
  const int a = X.partition().index(axis);
  const int dim = X.dim_of(a);
  RIESZ_CHECK(dim >= 0 && X.shards(dim).size() == 1, "rotated: axis ", axis, " shards no dim alone in ",
              to_string(X), "; owners rotate along such an axis");
  const bool terms = X.shards(dim).front().terms;
  return X.replicated(axis).sharded(dim, axis, split_of(X, dim).rotated(k), terms);
}

}  // namespace riesz

namespace riesz::primitives {

using Axes = std::vector<int>;

Step copy(const Space& X, const Space& Y, const Axes& axes) { return named_move("Copy", X, Y, axes); }
Step all_reduce(const Space& X, const Space& Y, const Axes& axes) {
  return named_move("AllReduce", X, Y, axes);
}
Step all_gather(const Space& X, const Space& Y, const Axes& axes) {
  return named_move("AllGather", X, Y, axes);
}
Step reduce_scatter(const Space& X, const Space& Y, const Axes& axes) {
  return named_move("ReduceScatter", X, Y, axes);
}
Step slice(const Space& X, const Space& Y, const Axes& axes) { return named_move("Slice", X, Y, axes); }
Step pad(const Space& X, const Space& Y, const Axes& axes) { return named_move("Pad", X, Y, axes); }
Step agree(const Space& X, const Space& Y, const Axes& axes) { return named_move("Agree", X, Y, axes); }
Step term(const Space& X, const Space& Y, const Axes& axes) { return named_move("Term", X, Y, axes); }
Step all_to_all(const Space& X, const Space& Y, const Axes& axes) {
  return named_move("AllToAll", X, Y, axes);
}
Step shift(const Space& X, const Space& Y, const Axes& axes) { return named_move("Shift", X, Y, axes); }
Step halo(const Space& X, const Space& Y, const Axes& axes) { return named_move("Halo", X, Y, axes); }
Step halo_sum(const Space& X, const Space& Y, const Axes& axes) { return named_move("HaloSum", X, Y, axes); }
Step repartition(const Space& X, const Space& Y, const Axes& axes) {
  return named_move("Repartition", X, Y, axes);
}

}  // namespace riesz::primitives
