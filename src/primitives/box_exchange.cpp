// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_exchange.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/comm/communicator.h"
#include "riesz/primitives/ordered_sum.h"

namespace riesz {

/// The part of this worker's tensor that goes to, or comes from, the worker of world rank `peer`.
struct BoxExchange::Route {
  int peer;
  Box part;
};

namespace {

struct Arrival {
  at::Tensor buffer;
  at::Tensor destination;
};

}  // namespace

BoxExchange::BoxExchange(std::string name, Space domain, Space range, std::vector<int> axes, Combine combine)
    : Primitive(std::move(name), std::move(domain), std::move(range), std::move(axes)), combine_(combine) {}

std::vector<int> BoxExchange::senders(int rank) const { return domain().partition().fibre(rank, axes()); }
std::vector<int> BoxExchange::receivers(int rank) const { return domain().partition().fibre(rank, axes()); }

std::vector<BoxExchange::Route> BoxExchange::incoming() const {
  const Partition& Q = range().partition();
  std::vector<Route> routes;
  if (!Q.active()) return routes;
  const Box need = range().box(Q.rank());
  for (const int sender : senders(Q.rank())) {
    routes.push_back({domain().partition().world_rank(sender), overlap(need, domain().box(sender))});
  }
  return routes;
}

std::vector<BoxExchange::Route> BoxExchange::outgoing() const {
  const Partition& P = domain().partition();
  std::vector<Route> routes;
  if (!P.active()) return routes;
  const Box own = domain().box(P.rank());
  for (const int receiver : receivers(P.rank())) {
    routes.push_back({range().partition().world_rank(receiver), overlap(own, range().box(receiver))});
  }
  return routes;
}

at::Tensor BoxExchange::apply(const at::Tensor& x) const { return combine_ == Combine::add ? add(x) : place(x); }

at::Tensor BoxExchange::place(const at::Tensor& x) const {
  const int me = range().partition().active() ? range().partition().world_rank(range().partition().rank())
                                              : domain().partition().world_rank(domain().partition().rank());
  at::Tensor y = at::empty(range().local_shape(), x.options().memory_format(at::MemoryFormat::Contiguous));
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  std::vector<Arrival> arrivals;
  at::Tensor own;
  for (const Route& route : outgoing()) {
    const at::Tensor part = narrow(x, route.part);
    if (route.peer == me) own = part;
    else sends.push_back({route.peer, part.contiguous()});
  }
  for (const Route& route : incoming()) {
    const at::Tensor part = narrow(y, route.part);
    if (route.peer == me) {
      part.copy_(own);
    } else if (part.is_contiguous()) {
      receives.push_back({route.peer, part});
    } else {
      arrivals.push_back({at::empty(part.sizes(), part.options()), part});
      receives.push_back({route.peer, arrivals.back().buffer});
    }
  }
  Communicator::world().exchange(name(), sends, receives);
  for (const Arrival& arrival : arrivals) arrival.destination.copy_(arrival.buffer);
  return y;
}

at::Tensor BoxExchange::add(const at::Tensor& x) const {
  std::vector<Parcel> sends;
  std::vector<Parcel> receives;
  std::vector<at::Tensor> terms;
  const Partition& P = domain().partition();
  const int me = P.active() ? P.world_rank(P.rank()) : -1;
  at::Tensor own;
  for (const Route& route : outgoing()) {
    const at::Tensor part = narrow(x, route.part).contiguous();
    if (route.peer == me) own = part;
    else sends.push_back({route.peer, part});
  }
  for (const Route& route : incoming()) {
    if (route.peer == me) {
      terms.push_back(own);
      continue;
    }
    terms.push_back(at::empty(range().local_shape(), x.options().memory_format(at::MemoryFormat::Contiguous)));
    receives.push_back({route.peer, terms.back()});
  }
  Communicator::world().exchange(name(), sends, receives);
  return terms.empty() ? at::empty(range().local_shape(), x.options()) : ordered_sum(terms);
}

Traffic BoxExchange::traffic(int rank) const {
  const Partition& P = domain().partition();
  const Box own = domain().box(rank);
  Traffic traffic;
  for (const int receiver : receivers(rank)) {
    const std::int64_t elements = volume(overlap(own, range().box(receiver)));
    const bool to_itself = range().partition().world_rank(receiver) == P.world_rank(rank);
    if (!to_itself && elements > 0) traffic += {elements, 0, 1};
  }
  return traffic;
}

bool BoxExchange::communicates() const {
  const Partition& P = domain().partition();
  for (int rank = 0; rank < P.size(); ++rank) {
    for (const int receiver : receivers(rank)) {
      if (range().partition().world_rank(receiver) != P.world_rank(rank)) return true;
    }
  }
  return false;
}

}  // namespace riesz
