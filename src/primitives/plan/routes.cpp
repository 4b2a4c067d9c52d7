// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/routes.h"

#include <algorithm>
#include <utility>

#include "riesz/partition/intervals/local_boxes.h"
#include "riesz/primitives/plan/holders.h"

namespace riesz {
namespace {

constexpr int kNone = -1;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

int rank_in(const Partition& there, const Partition& here, int rank) {
  return there == here ? rank : there.rank_in(here.world_rank(rank));
}

Route route_of(int rank, std::vector<CommonBox> boxes, Box CommonBox::*side) {
  Route route{rank, {}, 0};
  for (CommonBox& box : boxes) {
    route.elements += volume(box.*side);
    route.parts.push_back(std::move(box.*side));
  }
  return route;
}

}  // namespace

Routes::Routes(const Space& X, const Space& Y, const std::vector<int>& axes) : X_(X), Y_(Y) {
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  const bool one_partition = P == Q;
  same_in_Y_.assign(P.axes().size(), kNone);
  same_in_X_.assign(Q.axes().size(), kNone);
  for (int a = 0; a < static_cast<int>(P.axes().size()); ++a) {
    const Axis& axis = P.axes()[at(a)];
    const int b = one_partition ? a : Q.find(axis.name);
    const bool stays = one_partition
                           ? std::find(axes.begin(), axes.end(), a) == axes.end()
                           : b >= 0 && Q.axes()[at(b)] == axis && X.placement(a) == Y.placement(b) &&
                                 X.placement(a) != Placement::Sharded;
    if (stays) same_in_Y_[at(a)] = b;
    if (stays) same_in_X_[at(b)] = a;
    adds_ = adds_ || (!stays && X.placement(a) == Placement::Partial && axis.extent > 1);
  }
  for (int dim = 0; dim < X.dims(); ++dim) adds_ = adds_ || X.terms(dim);
}

std::vector<CommonBox> Routes::boxes(int sender, int receiver) const {
  return detail::common_boxes(detail::exchanged_segments(X_, sender, Overlap::copies, Y_, receiver),
                              detail::exchanged_segments(Y_, receiver, Overlap::terms, X_, sender));
}

/// Nothing goes to those that are not first where Y is Partial.
bool Routes::receives(int rank) const {
  for (int b = 0; b < static_cast<int>(same_in_X_.size()); ++b) {
    const bool elsewhere = Y_.placement(b) == Placement::Partial && Y_.partition().coordinate(rank, b) != 0;
    if (same_in_X_[at(b)] == kNone && elsewhere) return false;
  }
  return true;
}

std::vector<Route> Routes::incoming(int rank) const {
  if (!receives(rank)) return {};
  const Partition& P = X_.partition();
  const int in_P = rank_in(P, Y_.partition(), rank);
  std::vector<int> coordinates;
  for (int a = 0; a < static_cast<int>(same_in_Y_.size()); ++a) {
    const Placement placement = X_.placement(a);
    if (same_in_Y_[at(a)] != kNone) {
      coordinates.push_back(Y_.partition().coordinate(rank, same_in_Y_[at(a)]));
    } else if (placement == Placement::Sharded || placement == Placement::Partial) {
      coordinates.push_back(kAll);
    } else {
      coordinates.push_back(placement == Placement::Replicated && in_P >= 0 ? P.coordinate(in_P, a) : 0);
    }
  }
  std::vector<Route> routes;
  for (const int sender : holders(X_, Y_.boxes(rank), coordinates)) {
    routes.push_back(route_of(sender, boxes(sender, rank), &CommonBox::in_b));
    if (routes.back().elements == 0) routes.pop_back();
  }
  return routes;
}

/// On axes where the sender of a replicated or copied vector is chosen by its receiver: is it this one?
bool Routes::sends_to(int sender, int receiver) const {
  const Partition& P = X_.partition();
  const int in_P = rank_in(P, Y_.partition(), receiver);
  for (int a = 0; a < static_cast<int>(same_in_Y_.size()); ++a) {
    const Placement placement = X_.placement(a);
    const bool chosen = placement == Placement::Replicated || placement == Placement::Copied;
    if (same_in_Y_[at(a)] != kNone || !chosen) continue;
    const int from = placement == Placement::Replicated && in_P >= 0 ? P.coordinate(in_P, a) : 0;
    if (P.coordinate(sender, a) != from) return false;
  }
  return true;
}

Route Routes::sent(int sender, int receiver) const {
  return route_of(receiver, boxes(sender, receiver), &CommonBox::in_a);
}

std::vector<Route> Routes::outgoing(int rank) const {
  std::vector<int> coordinates;
  for (int b = 0; b < static_cast<int>(same_in_X_.size()); ++b) {
    const bool first = Y_.placement(b) == Placement::Partial;
    coordinates.push_back(same_in_X_[at(b)] != kNone ? X_.partition().coordinate(rank, same_in_X_[at(b)])
                                                     : (first ? 0 : kAll));
  }
  std::vector<Route> routes;
  for (const int receiver : holders(Y_, X_.boxes(rank), coordinates)) {
    if (!sends_to(rank, receiver)) continue;
    routes.push_back(sent(rank, receiver));
    if (routes.back().elements == 0) routes.pop_back();
  }
  return routes;
}

}  // namespace riesz
