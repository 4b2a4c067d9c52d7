// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_plan.h"

#include <algorithm>
#include <utility>

namespace riesz {

BoxPlan plan_boxes(const Routes& routes, const Space& X, const Space& Y) {
  const Partition& P = X.partition();
  const Partition& Q = Y.partition();
  BoxPlan plan;
  plan.adds = routes.adds();
  const int me = P.active() ? P.world_rank(P.rank()) : (Q.active() ? Q.world_rank(Q.rank()) : -1);
  if (P.active()) {
    for (Route& route : routes.outgoing(P.rank())) {
      const int peer = Q.world_rank(route.rank);
      if (peer == me) {
        plan.kept = std::move(route);
      } else {
        plan.out.push_back(std::move(route));
        plan.send_peers.push_back(peer);
      }
    }
  }
  if (!Q.active()) return plan;
  plan.in = routes.incoming(Q.rank());
  const std::int64_t elements = volume(Y.boxes(Q.rank()));
  std::int64_t arriving = 0;
  for (std::size_t i = 0; i < plan.in.size(); ++i) {
    const int peer = P.world_rank(plan.in[i].rank);
    if (peer == me)
      plan.kept_at = i;
    else
      plan.receive_peers.push_back(peer);
    arriving += plan.in[i].elements;
  }
  plan.whole = !plan.in.empty() && std::all_of(plan.in.begin(), plan.in.end(), [&](const Route& route) {
    return route.parts.size() == 1 && route.elements == elements;
  });
  plan.fills = !plan.adds && arriving == elements;
  plan.identity = plan.kept_at && plan.out.empty() && plan.in.size() == 1 && plan.whole &&
                  plan.kept->parts.size() == 1 && plan.kept->elements == volume(X.boxes(P.rank()));
  return plan;
}

}  // namespace riesz
