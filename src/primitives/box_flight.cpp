// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_flight.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/partition/vector.h"
#include "riesz/primitives/ordered_sum.h"

namespace riesz {
namespace {

/// Calls put(place in y, part of the parcel) for each part of a parcel.
template <typename Put>
void each_part(const at::Tensor& parcel, const Route& route, const at::Tensor& y, const Put& put) {
  std::int64_t begin = 0;
  for (const Box& part : route.parts) {
    const at::Tensor place = narrow(y, part);
    put(place, parcel.narrow(0, begin, place.numel()).view(place.sizes()));
    begin += place.numel();
  }
}

at::Tensor packed(const at::Tensor& x, const Route& route) {
  if (route.parts.size() == 1) return narrow(x, route.parts.front()).contiguous();
  at::Tensor parcel = at::empty({route.elements}, x.options().memory_format(at::MemoryFormat::Contiguous));
  each_part(parcel, route, x, [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
  return parcel;
}

}  // namespace

BoxFlight::BoxFlight(const Operation& operation, const BoxPlan& plan, at::IntArrayRef y_shape)
    : operation_(operation), plan_(plan), y_shape_(y_shape) {
  if (plan.moves()) tags_ = Communicator::world().take_tags(plan.send_peers, plan.receive_peers);
}

void BoxFlight::launch(const at::Tensor& x) {
  if (plan_.identity) {
    y_ = x;
    finished_ = true;
    return;
  }
  options_ = x.options().memory_format(at::MemoryFormat::Contiguous);
  std::vector<Parcel> sends;
  sends.reserve(plan_.out.size());
  for (std::size_t i = 0; i < plan_.out.size(); ++i)
    sends.push_back({plan_.send_peers[i], packed(x, plan_.out[i])});
  receives_.reserve(plan_.receive_peers.size());
  if (plan_.adds)
    receive_terms(x);
  else
    receive_in_place();
  if (plan_.moves())
    exchange_ = Communicator::world().post(operation_, tags_, std::move(sends), std::move(receives_));
  if (!plan_.adds) place_kept(x);
}

void BoxFlight::receive_in_place() {
  y_ = plan_.fills ? at::empty(y_shape_, options_) : at::zeros(y_shape_, options_);
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    if (plan_.kept_at == i) continue;
    const Route& route = plan_.in[i];
    at::Tensor place;
    if (route.parts.size() == 1) place = narrow(y_, route.parts.front());
    const bool direct = place.defined() && place.is_contiguous();
    parcels_.push_back(direct ? at::Tensor() : at::empty({route.elements}, options_));
    receives_.push_back({plan_.receive_peers[receives_.size()], direct ? place : parcels_.back()});
  }
}

void BoxFlight::place_kept(const at::Tensor& x) {
  if (!plan_.kept_at) return;
  const Route& route = plan_.in[*plan_.kept_at];
  for (std::size_t part = 0; part < route.parts.size(); ++part) {
    narrow(y_, route.parts[part]).copy_(narrow(x, plan_.kept->parts[part]));
  }
}

void BoxFlight::receive_terms(const at::Tensor& x) {
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    if (plan_.kept_at == i) {
      parcels_.push_back(packed(x, *plan_.kept).view({-1}));
      continue;
    }
    parcels_.push_back(at::empty({plan_.in[i].elements}, options_));
    receives_.push_back({plan_.receive_peers[receives_.size()], parcels_.back()});
  }
}

bool BoxFlight::done() {
  if (finished_) return true;
  if (exchange_ && !exchange_->done()) return false;
  exchange_.reset();
  if (plan_.adds)
    finish_adding();
  else
    finish_placing();
  finished_ = true;
  return true;
}

void BoxFlight::finish_placing() {
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    if (plan_.kept_at == i) continue;
    const at::Tensor& parcel = parcels_[arrived++];
    if (!parcel.defined()) continue;
    each_part(parcel, plan_.in[i], y_,
              [](const at::Tensor& place, const at::Tensor& part) { place.copy_(part); });
  }
}

void BoxFlight::finish_adding() {
  if (plan_.whole) {
    for (at::Tensor& parcel : parcels_) parcel = parcel.view(y_shape_);
    y_ = ordered_sum(parcels_);
    return;
  }
  const at::ScalarType type = options_.dtype().toScalarType();
  const at::Tensor sum = at::zeros(y_shape_, options_.dtype(accumulation_type(type)));
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    each_part(parcels_[i], plan_.in[i], sum,
              [](const at::Tensor& place, const at::Tensor& part) { place.add_(part); });
  }
  y_ = sum.to(type);
}

std::vector<int> BoxFlight::waits_for() const {
  return exchange_ ? exchange_->unfinished() : std::vector<int>{};
}

}  // namespace riesz
