// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/vectors/beside.h"

#include <cstddef>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

void check_letters(const std::string& what, const std::string& indices, const Space& S) {
  RIESZ_CHECK(static_cast<int>(indices.size()) == S.dims(), what, ": \"", indices, "\" are ", indices.size(),
              " indices, for the dims of\n  ", to_string(S));
  for (std::size_t i = 1; i < indices.size(); ++i) {
    RIESZ_CHECK(indices.find(indices[i]) == i, what, ": the index ", indices[i], " is twice in \"", indices,
                "\"");
  }
}

/// The dim of X that each dim of W stands beside.
std::vector<int> places(const std::string& what, const Space& X, const std::string& x_indices, const Space& W,
                        const std::string& w_indices) {
  check_letters(what, x_indices, X);
  check_letters(what, w_indices, W);
  std::vector<int> dims;
  std::size_t from = 0;
  for (std::size_t dim = 0; dim < w_indices.size(); ++dim) {
    from = x_indices.find(w_indices[dim], from);
    RIESZ_CHECK(from != std::string::npos, what, ": the indices \"", w_indices, "\" are not among \"",
                x_indices, "\" in their order; bring them there with permute");
    RIESZ_CHECK(W.shape()[dim] == X.shape()[from], what, ": index ", w_indices[dim], " has ", X.shape()[from],
                " elements in\n  ", to_string(X), "\nand ", W.shape()[dim], " in\n  ", to_string(W));
    dims.push_back(static_cast<int>(from));
  }
  return dims;
}

/// Balanced shards in other units may be other pieces.
void check_pieces(const std::string& what, const Space& X, const Space& beside, int x_dim, int dim) {
  if (X.unit_of(x_dim) == beside.unit_of(dim)) return;
  for (int rank = 0; rank < X.partition().size(); ++rank) {
    const std::vector<int> coordinates = X.partition().coordinates(rank);
    RIESZ_CHECK(X.held(x_dim, coordinates) == beside.held(dim, coordinates), what, ": dim ", x_dim, " of\n  ",
                to_string(X), "\nis cut in other pieces than it would be in units of ", beside.unit_of(dim),
                ", those of dim ", dim, " of what is to stand beside it; give that dim units of ",
                X.unit_of(x_dim), " with Space::unit");
  }
}

Space with_shards(const std::string& what, BesideAs as, const Space& X, const std::vector<int>& beside_dim,
                  Space W) {
  for (int x_dim = 0; x_dim < X.dims(); ++x_dim) {
    const int dim = beside_dim[static_cast<std::size_t>(x_dim)];
    RIESZ_CHECK(dim >= 0 || as == BesideAs::product || !X.terms(x_dim), what,
                ": a vector that would be added to each of the terms that dim ", x_dim,
                " has where its split "
                "overlaps, in\n  ",
                to_string(X), "\nadd them up first with between(X, Y)");
    for (Shard shard : X.shards(x_dim)) {
      const std::string& axis = X.partition().axis(shard.axis).name;
      shard.terms = shard.terms && as == BesideAs::sum;
      W = dim < 0 ? W.copied(axis) : W.sharded_like(dim, axis, shard);
    }
    if (dim >= 0) check_pieces(what, X, W, x_dim, dim);
  }
  return W;
}

struct PlannedRead {
  BesideAs as;
  std::string x_indices;
  std::string w_indices;
  Space X;
  Operator read;
  std::vector<std::int64_t> view;  // of the local part; empty if it broadcasts as it is
};

std::vector<std::int64_t> view_beside(const std::string& x_indices, const std::string& w_indices,
                                      const std::vector<std::int64_t>& local) {
  std::vector<std::int64_t> view;
  std::size_t next = 0;
  for (const char index : x_indices) {
    const bool has = next < w_indices.size() && w_indices[next] == index;
    if (has || !view.empty()) view.push_back(has ? local[next] : 1);
    if (has) ++next;
  }
  return view.size() == local.size() ? std::vector<std::int64_t>{} : view;
}

PlannedRead planned_read(const char* what, BesideAs as, const Space& X, const std::string& x_indices,
                         const Space& W, const std::string& w_indices) {
  PlannedRead made{as, x_indices, w_indices, X, beside(what, as, X, x_indices, W, w_indices), {}};
  if (X.partition().active()) made.view = view_beside(x_indices, w_indices, made.read.range().local_shape());
  return made;
}

}  // namespace

Operator beside(const std::string& what, BesideAs as, const Space& X, const std::string& x_indices,
                const Space& W, const std::string& w_indices) {
  std::vector<int> beside_dim(x_indices.size(), -1);
  Space read(X.partition(), W.shape());
  for (const int x_dim : places(what, X, x_indices, W, w_indices)) {
    const int dim = static_cast<int>(w_indices.find(x_indices[static_cast<std::size_t>(x_dim)]));
    beside_dim[static_cast<std::size_t>(x_dim)] = dim;
    read = read.unit(dim, W.unit_of(dim));
  }
  for (const Axis& axis : X.partition().axes()) {
    const Placement placement = X.placement(axis.name);
    if (placement == Placement::Copied) read = read.copied(axis.name);
    if (placement == Placement::Partial) {
      read = read.placed(axis.name, as == BesideAs::sum ? Placement::Partial : Placement::Copied);
    }
  }
  return between(W, with_shards(what, as, X, beside_dim, std::move(read)));
}

at::Tensor read_beside(const char* what, BesideAs as, const Space& X, const std::string& x_indices,
                       const Vector& w, const std::string& w_indices) {
  static auto& plans = *new PlanCache<PlannedRead>;
  const auto plan = plans.get(
      [&](const PlannedRead& made) {
        return made.as == as && made.x_indices == x_indices && made.w_indices == w_indices && made.X == X &&
               made.read.domain() == w.space();
      },
      [&] { return planned_read(what, as, X, x_indices, w.space(), w_indices); });
  const at::Tensor local = plan->read(w).local();
  return plan->view.empty() ? local : local.reshape(plan->view);
}

}  // namespace riesz::detail
