// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/box_flight.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/message_batch.h"
#include "riesz/comm/ordered_sum.h"
#include "riesz/comm/transcript.h"
#include "riesz/partition/vector.h"

namespace riesz {
namespace {

/// Can the kernel copy from it and into it?
bool plain(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.is_contiguous(); }

/// Calls f(a part of `tensor`, where it is in the parcel).
template <typename Function>
void each_part(const at::Tensor& tensor, const Route& route, const at::Tensor& parcel, const Function& f) {
  const at::Tensor flat = parcel.view({-1});
  std::int64_t begin = 0;
  for (const Box& box : route.parts) {
    const at::Tensor part = narrow(tensor, box);
    f(part, flat.narrow(0, begin, part.numel()).view(part.sizes()));
    begin += part.numel();
  }
}

void pack(const at::Tensor& x, const Route& route, const std::vector<BoxCopy>& copies,
          const at::Tensor& parcel) {
  if (plain(x)) {
    for (const BoxCopy& copy : copies) copy_box(x, parcel, copy);
    return;
  }
  each_part(x, route, parcel, [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
}

void unpack(const at::Tensor& parcel, const Route& route, const std::vector<BoxCopy>& copies,
            const at::Tensor& y) {
  if (plain(y)) {
    for (const BoxCopy& copy : copies) copy_box(parcel, y, copy);
    return;
  }
  each_part(y, route, parcel, [](const at::Tensor& to, const at::Tensor& from) { to.copy_(from); });
}

/// The parts of a parcel, each in its shape.
std::vector<at::Tensor> parts_of(const at::Tensor& parcel, const Route& route) {
  std::vector<at::Tensor> parts;
  std::int64_t begin = 0;
  for (const Box& box : route.parts) {
    std::vector<std::int64_t> shape;
    for (const Interval& interval : box) shape.push_back(interval.size());
    const std::int64_t count = volume(box);
    parts.push_back(route.parts.size() == 1 ? parcel.view(shape)
                                            : parcel.narrow(0, begin, count).view(shape));
    begin += count;
  }
  return parts;
}

bool differentiable(at::ScalarType type) { return at::isFloatingType(type) || at::isComplexType(type); }

bool direct(const std::vector<BoxCopy>& copies) { return copies.size() == 1 && copies.front().contiguous(); }

}  // namespace

BoxFlight::BoxFlight(const Operation& operation, const BoxPlan& plan, at::IntArrayRef y_shape)
    : operation_(operation), plan_(plan), y_shape_(y_shape) {
  if (!plan.moves()) return;
  Transcript::note(operation.label);
  tags_ = Communicator::world().take_tags(plan.send_peers, plan.receive_peers);
}

void BoxFlight::launch(const at::Tensor& x) {
  if (plan_.identity) {
    y_ = x;
    finished_ = true;
    return;
  }
  options_ = at::TensorOptions().dtype(x.dtype()).device(x.device());
  std::vector<Parcel> sends;
  sends.reserve(plan_.out.size());
  for (std::size_t i = 0; i < plan_.out.size(); ++i) {
    // Who sends the same to several packs it once.
    sends.push_back(plan_.repeats[i] ? Parcel{plan_.send_peers[i], sends.back().range} : sent(x, i));
  }
  receives_.reserve(plan_.receive_peers.size());
  const bool batched = MessageBatch::current() != nullptr;  // at both ends
  for (std::size_t i = plan_.out.size(); i < plan_.send_peers.size() && !batched; ++i)
    sends.push_back({plan_.send_peers[i], at::empty({0}, options_)});
  const bool any_type = plan_.outside && !plan_.receive_peers.empty() && x.is_cpu() && !batched;
  if (any_type)
    receive_as_sent(x);
  else if (plan_.adds)
    receive_terms(x);
  else
    receive_in_place();
  if (plan_.told && !any_type && !batched)
    receives_.push_back({plan_.receive_peers.front(), at::empty({0}, options_)});
  post(std::move(sends));
  if (!plan_.adds) place_kept(x);
}

void BoxFlight::post(std::vector<Parcel> sends) {
  Communicator& world = Communicator::world();
  if (!plan_.lets_go) {
    if (plan_.moves()) exchange_ = world.post(operation_, tags_, std::move(sends), std::move(receives_));
    return;
  }
  if (!receives_.empty()) exchange_ = world.post(operation_, tags_, {}, std::move(receives_));
  if (!sends.empty()) world.send(operation_, tags_, std::move(sends));
}

Parcel BoxFlight::sent(const at::Tensor& x, std::size_t out) const {
  const Route& route = plan_.out[out];
  const int peer = plan_.send_peers[out];
  if (direct(plan_.pack[out]) && x.is_contiguous() && !plan_.lets_go)
    return {peer, {x, plan_.pack[out].front().from, route.elements}};
  at::Tensor parcel = at::empty({route.elements}, options_);
  pack(x, route, plan_.pack[out], parcel);
  return {peer, std::move(parcel)};
}

void BoxFlight::receive_as_sent(const at::Tensor& x) {
  for (std::size_t i = 0; i < plan_.receive_peers.size(); ++i) {
    const std::int64_t elements = plan_.told ? 0 : plan_.in[i].elements;
    arrived_.push_back(std::make_shared<at::Tensor>());
    receives_.push_back({plan_.receive_peers[i], {x, 0, elements}, operation_.label, arrived_.back()});
  }
}

/// x, which has no elements here, has said whether gradients are recorded, and no more.
void BoxFlight::take_as_sent() {
  const at::ScalarType type = arrived_.front()->scalar_type();
  for (std::size_t i = 0; i < arrived_.size(); ++i) {
    const at::Tensor& parcel = *arrived_[i];
    RIESZ_CHECK(parcel.scalar_type() == type, operation_.text, ": rank ", plan_.receive_peers[i], " sent ",
                parcel.scalar_type(), " and rank ", plan_.receive_peers.front(), " ", type,
                "; the parts of a vector are of one type");
    parcels_.push_back(plan_.whole ? parcel.view(y_shape_) : parcel);
  }
  RIESZ_CHECK(differentiable(type) == differentiable(options_.dtype().toScalarType()), operation_.text,
              ": rank ", plan_.receive_peers.front(), " sent ", type,
              " to this worker, which gave an empty tensor of ", options_.dtype(),
              "; where the one has gradients the other must, so give one of at::kFloat, or of at::kLong");
  options_ = parcels_.front().options();
  arrived_.clear();
  if (plan_.told) parcels_.clear();
  if (plan_.adds) return;
  if (plan_.whole && plan_.fills) {
    y_ = std::exchange(parcels_.front(), at::Tensor());
    return;
  }
  y_ = plan_.fills ? at::empty(y_shape_, options_) : at::zeros(y_shape_, options_);
}

void BoxFlight::receive_in_place() {
  y_ = plan_.fills ? at::empty(y_shape_, options_) : at::zeros(y_shape_, options_);
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    if (plan_.kept_at == i) continue;
    const int peer = plan_.receive_peers[receives_.size()];
    const std::int64_t elements = plan_.in[i].elements;
    if (direct(plan_.unpack[i])) {
      parcels_.emplace_back();
      receives_.push_back({peer, {y_, plan_.unpack[i].front().to, elements}});
    } else {
      parcels_.push_back(at::empty({elements}, options_));
      receives_.push_back({peer, parcels_.back()});
    }
  }
}

void BoxFlight::place_kept(const at::Tensor& x) {
  if (!plan_.kept_at) return;
  if (plain(x) && plain(y_)) {
    for (const BoxCopy& copy : plan_.keep) copy_box(x, y_, copy);
    return;
  }
  const Route& route = plan_.in[*plan_.kept_at];
  for (std::size_t part = 0; part < route.parts.size(); ++part) {
    narrow(y_, route.parts[part]).copy_(narrow(x, plan_.kept->parts[part]));
  }
}

void BoxFlight::receive_terms(const at::Tensor& x) {
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    const at::IntArrayRef shape = plan_.whole ? y_shape_ : at::IntArrayRef(plan_.in[i].elements);
    if (plan_.kept_at != i) {
      parcels_.push_back(at::empty(shape, options_));
      receives_.push_back({plan_.receive_peers[receives_.size()], parcels_.back()});
    } else if (plan_.kept->parts.size() == 1) {
      parcels_.push_back(narrow(x, plan_.kept->parts.front()));
    } else {
      parcels_.push_back(at::empty(shape, options_));
      each_part(x, *plan_.kept, parcels_.back(),
                [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
    }
  }
}

bool BoxFlight::done() {
  if (finished_) return true;
  if (exchange_ && !exchange_->done()) return false;
  exchange_.reset();
  if (!arrived_.empty()) take_as_sent();
  if (plan_.adds)
    finish_adding();
  else
    finish_placing();
  parcels_.clear();  // the result may be waited for much later
  finished_ = true;
  return true;
}

void BoxFlight::finish_placing() {
  std::size_t arrived = 0;
  for (std::size_t i = 0; i < plan_.in.size(); ++i) {
    if (plan_.kept_at == i) continue;
    const at::Tensor& parcel = parcels_[arrived++];
    if (parcel.defined()) unpack(parcel, plan_.in[i], plan_.unpack[i], y_);
  }
}

void BoxFlight::finish_adding() {
  if (plan_.whole) {
    y_ = ordered_sum(parcels_);
    return;
  }
  std::vector<std::vector<at::Tensor>> parts;  // of each parcel
  for (std::size_t i = 0; i < plan_.in.size(); ++i) parts.push_back(parts_of(parcels_[i], plan_.in[i]));
  y_ = at::empty(y_shape_, options_);
  for (const SumCell& cell : plan_.cells) {
    const at::Tensor place = narrow(y_, cell.place);
    std::vector<at::Tensor> terms;
    for (const SumCell::Term& term : cell.terms)
      terms.push_back(narrow(parts[term.route][term.part], term.box));
    if (terms.empty())
      place.zero_();
    else
      ordered_sum_to(terms, place);
  }
}

std::vector<int> BoxFlight::waits_for() const {
  return exchange_ ? exchange_->unfinished() : std::vector<int>{};
}

}  // namespace riesz
