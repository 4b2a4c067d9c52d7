// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_exchange.h"

#include <utility>

#include "riesz/primitives/box_flight.h"

namespace riesz {

BoxExchange::BoxExchange(std::string name, Space domain, Space range, std::vector<int> axes,
                         Make make_adjoint)
    : Primitive(std::move(name), domain, range, axes), routes_(domain, range, axes), adjoint_(make_adjoint) {}

const BoxPlan& BoxExchange::plan() const {
  std::call_once(planned_, [this] { plan_ = plan_boxes(routes_, domain(), range()); });
  return plan_;
}

std::unique_ptr<Flight> BoxExchange::prepare() const {
  return std::make_unique<BoxFlight>(operation(), plan(), range().local_shape());
}

at::Tensor BoxExchange::apply(const at::Tensor& x) const {
  BoxFlight flight(operation(), plan(), range().local_shape());
  return fly(flight, operation().text, x);
}

Traffic BoxExchange::traffic(int rank) const {
  Traffic traffic;
  for (const Route& route : routes_.outgoing(rank)) {
    const bool leaves = range().partition().world_rank(route.rank) != domain().partition().world_rank(rank);
    if (leaves) traffic += {route.elements, 0, 1};
  }
  return traffic;
}

bool BoxExchange::moves() const {
  if (domain().partition() != range().partition()) return true;
  for (const int a : axes()) {
    if (domain().partition().axis(a).extent > 1) return true;
  }
  return false;
}

}  // namespace riesz
