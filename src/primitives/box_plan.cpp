// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_plan.h"

#include <algorithm>
#include <utility>

namespace riesz {
namespace {

std::vector<std::int64_t> sizes_of(const Box& box) {
  std::vector<std::int64_t> sizes;
  for (const Interval& interval : box) sizes.push_back(interval.size());
  return sizes;
}

Box all_of(const Box& box) {
  Box all;
  for (const Interval& interval : box) all.push_back({0, interval.size()});
  return all;
}

/// Between a tensor and the parcel of a route's parts, one after another.
std::vector<BoxCopy> parcel_copies(const std::vector<std::int64_t>& shape, const Route& route, bool pack) {
  std::vector<BoxCopy> copies;
  std::int64_t begin = 0;
  for (const Box& part : route.parts) {
    copies.push_back(pack ? box_copy(shape, part, sizes_of(part), all_of(part))
                          : box_copy(sizes_of(part), all_of(part), shape, part));
    (pack ? copies.back().to : copies.back().from) += begin;
    begin += volume(part);
  }
  return copies;
}

/// Does the worker of this rank of Y's partition have no part of x, and get none? Then the workers of X's, in
/// turn, tell such workers the type.
bool is_told(const Routes& routes, const Partition& P, const Partition& Q, int rank) {
  return P != Q && P.rank_in(Q.world_rank(rank)) < 0 && routes.incoming(rank).empty();
}

/// What this worker sends: it has a part of x.
void plan_sends(BoxPlan& plan, const Routes& routes, const Space& X, const Space& Y) {
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  const int me = P.world_rank(P.rank());
  for (Route& route : routes.outgoing(P.rank())) {
    const int peer = Q.world_rank(route.rank);
    if (peer == me) {
      plan.kept = std::move(route);
    } else {
      plan.out.push_back(std::move(route));
      plan.send_peers.push_back(peer);
    }
  }
  for (const Route& route : plan.out) {
    plan.repeats.push_back(!plan.pack.empty() && route.parts == plan.out[plan.pack.size() - 1].parts);
    plan.pack.push_back(parcel_copies(X.local_shape(), route, true));
  }
  for (int rank = P.rank(); P != Q && rank < Q.size(); rank += P.size()) {
    if (is_told(routes, P, Q, rank)) plan.send_peers.push_back(Q.world_rank(rank));
  }
}

/// What this worker gets: it has a part of y.
void plan_receives(BoxPlan& plan, const Routes& routes, const Space& X, const Space& Y) {
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  const int me = Q.world_rank(Q.rank());
  plan.in = routes.incoming(Q.rank());
  for (std::size_t i = 0; i < plan.in.size(); ++i) {
    const int peer = P.world_rank(plan.in[i].rank);
    if (peer == me)
      plan.kept_at = i;
    else
      plan.receive_peers.push_back(peer);
  }
  plan.told = is_told(routes, P, Q, Q.rank());
  if (plan.told) plan.receive_peers.push_back(P.world_rank(Q.rank() % P.size()));
  const std::vector<std::int64_t>& y_shape = Y.local_shape();
  for (const Route& route : plan.in) plan.unpack.push_back(parcel_copies(y_shape, route, false));
  for (std::size_t part = 0; plan.kept_at && part < plan.kept->parts.size(); ++part) {
    plan.keep.push_back(
        box_copy(X.local_shape(), plan.kept->parts[part], y_shape, plan.in[*plan.kept_at].parts[part]));
  }
}

/// What need not be done: adding by cells, filling y with zeros first, copying at all.
void plan_shortcuts(BoxPlan& plan, const Space& X, const Space& Y) {
  const std::int64_t elements = volume(Y.boxes(Y.partition().rank()));
  std::int64_t arriving = 0;
  for (const Route& route : plan.in) arriving += route.elements;
  plan.whole = !plan.in.empty() && std::all_of(plan.in.begin(), plan.in.end(), [&](const Route& route) {
    return route.parts.size() == 1 && route.elements == elements;
  });
  if (plan.adds && !plan.whole) plan.cells = sum_cells(plan.in, Y.local_shape());
  plan.fills = !plan.adds && arriving == elements;
  plan.identity = plan.kept_at && plan.send_peers.empty() && plan.in.size() == 1 && plan.whole &&
                  plan.kept->parts.size() == 1 &&
                  plan.kept->elements == volume(X.boxes(X.partition().rank()));
}

}  // namespace

BoxPlan plan_boxes(const Routes& routes, const Space& X, const Space& Y) {
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  BoxPlan plan;
  plan.adds = routes.adds();
  // The others may come much later. Within one partition all make the call together.
  plan.lets_go = P != Q;
  plan.outside = !P.active();
  if (P.active()) plan_sends(plan, routes, X, Y);
  if (!Q.active()) return plan;
  plan_receives(plan, routes, X, Y);
  plan_shortcuts(plan, X, Y);
  return plan;
}

}  // namespace riesz
