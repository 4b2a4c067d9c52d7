// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/buffers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/dispatched.h"
#include "riesz/comm/error.h"
#include "riesz/comm/new_tensor.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/partition/vector.h"

namespace riesz {
namespace {

using Combination = Round::Combination;

/// Can bytes be copied between these, which are in host memory?
bool plain(const at::Tensor& a, const at::Tensor& b) {
  return a.is_contiguous() && b.is_contiguous() && a.scalar_type() == b.scalar_type();
}

/// Calls f(a part of `tensor`, where it is in the message).
template <typename Function>
void each_part(const at::Tensor& tensor, const Parts& parts, const at::Tensor& message, const Function& f) {
  const at::Tensor flat = message.view({-1});
  std::int64_t begin = 0;
  for (const Box& box : parts.boxes) {
    const at::Tensor part = narrow(tensor, box);
    f(part, flat.narrow(0, begin, part.numel()).view(part.sizes()));
    begin += part.numel();
  }
}

// What follows has a kernel for host memory, and one for any other device. A view and a copy of LibTorch cost
// more than a small message takes.

void pack_by_operators(const at::Tensor& tensor, const Parts& parts, const at::Tensor& message) {
  each_part(tensor, parts, message, [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
}

void pack_in_memory(const at::Tensor& tensor, const Parts& parts, const at::Tensor& message) {
  if (!plain(tensor, message)) return pack_by_operators(tensor, parts, message);
  for (const BoxCopy& copy : parts.copies) copy_box(tensor, message, copy);
}

void unpack_by_operators(const at::Tensor& message, const Parts& parts, const at::Tensor& tensor) {
  each_part(tensor, parts, message, [](const at::Tensor& to, const at::Tensor& from) { to.copy_(from); });
}

void unpack_in_memory(const at::Tensor& message, const Parts& parts, const at::Tensor& tensor) {
  if (!plain(tensor, message)) return unpack_by_operators(message, parts, tensor);
  for (const BoxCopy& copy : parts.copies) copy_box(message, tensor, copy);
}

using CopyParts = Dispatched<void(const at::Tensor&, const Parts&, const at::Tensor&)>;
const CopyParts pack{pack_in_memory, pack_by_operators};
const CopyParts unpack{unpack_in_memory, unpack_by_operators};

void stay_by_operators(const Round& round, const at::Tensor& x, const at::Tensor& y) {
  const Parts& there = round.receives[*round.stays_at].parts;
  for (std::size_t part = 0; part < there.boxes.size(); ++part)
    narrow(y, there.boxes[part]).copy_(narrow(x, round.stays.boxes[part]));
}

void stay_in_memory(const Round& round, const at::Tensor& x, const at::Tensor& y) {
  if (!plain(x, y)) return stay_by_operators(round, x, y);
  for (const BoxCopy& copy : round.stays.copies) copy_box(x, y, copy);
}

/// Copies what stays on this worker from x to y.
const Dispatched<void(const Round&, const at::Tensor&, const at::Tensor&)> stay{stay_in_memory,
                                                                                stay_by_operators};

/// The boxes of a message, each in its shape.
std::vector<at::Tensor> boxes_of(const at::Tensor& message, const Parts& parts) {
  std::vector<at::Tensor> boxes;
  std::int64_t begin = 0;
  for (const Box& box : parts.boxes) {
    std::vector<std::int64_t> shape;
    for (const Interval& interval : box) shape.push_back(interval.size());
    const std::int64_t count = volume(box);
    boxes.push_back(parts.boxes.size() == 1 ? message.view(shape)
                                            : message.narrow(0, begin, count).view(shape));
    begin += count;
  }
  return boxes;
}

at::Tensor combined(const std::vector<at::Tensor>& terms, Combination combination) {
  if (combination == Combination::sum) return ordered_sum(terms);
  const auto pointwise = combination == Combination::greatest ? at::maximum : at::minimum;
  at::Tensor y = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) y = pointwise(y, terms[i]);
  return y;
}

void chunk_by_operators(const Round& round, std::vector<at::Tensor>& terms, const at::Tensor& y) {
  const auto part = [chunk = *round.into](const at::Tensor& flat) {
    return flat.view({-1}).narrow(0, chunk.begin, chunk.size());
  };
  at::Tensor& own = terms[*round.stays_at];
  own = part(own);
  part(y).copy_(combined(terms, round.combination));
}

void chunk_in_memory(const Round& round, std::vector<at::Tensor>& terms, const at::Tensor& y) {
  if (round.combination != Combination::sum || terms.front().scalar_type() != y.scalar_type())
    return chunk_by_operators(round, terms, y);
  const std::int64_t begin = round.into->begin * static_cast<std::int64_t>(y.element_size());
  std::vector<const std::byte*> places;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto* first = static_cast<const std::byte*>(terms[i].const_data_ptr());
    places.push_back(round.stays_at == i ? first + begin : first);
  }
  auto* to = static_cast<std::byte*>(y.mutable_data_ptr());
  ordered_sum_into(places, {to + begin}, round.into->size(), y.scalar_type(), false);
}

/// Combines a chunk of the terms into y: this worker's term is whole, the others are of the chunk.
const Dispatched<void(const Round&, std::vector<at::Tensor>&, const at::Tensor&)> combine_chunk{
    chunk_in_memory, chunk_by_operators};

}  // namespace

void Buffers::begin(at::Tensor x) {
  options_ = at::TensorOptions().dtype(x.dtype()).device(x.device());
  own_type_ = x.scalar_type();
  element_size_ = static_cast<std::int64_t>(x.element_size());
  in_host_memory_ = x.is_cpu();
  x_ = rounds_->flat && !x.is_contiguous() ? x.contiguous() : std::move(x);
  if (rounds_->identity) y_ = x_;
}

void Buffers::make_y(bool fills) {
  if (!y_.defined()) y_ = fills ? new_tensor(y_shape(), options_) : at::zeros(y_shape(), options_);
}

at::ScalarType Buffers::type_of(Round::Type type) const {
  return type == Round::Type::own ? own_type() : accumulation_type(own_type());
}

std::pair<at::Tensor, at::Tensor> Buffers::ends() {
  make_y(true);
  return {x_.contiguous(), y_};
}

void Buffers::collect(const Round& round, std::vector<Transfer>& sends, std::vector<Transfer>& receives) {
  const at::Tensor& from = source(round);
  const at::ScalarType type = type_of(round.sent_in);
  for (const Round::Send& send : round.sends)
    sends.push_back({send.peer, send.repeats ? sends.back().span : sent(from, send, type)});
  if (round.combination != Combination::copy)
    receive_terms(round, receives);
  else
    receive_in_place(round, receives);
}

TensorSpan Buffers::sent(const at::Tensor& source, const Round::Send& send, at::ScalarType type) const {
  const bool as_it_lies = send.parts.direct() && source.is_contiguous() && source.scalar_type() == type;
  if (as_it_lies && !rounds_->detached) return {source, send.parts.copies.front().from, send.parts.elements};
  at::Tensor message = new_tensor(send.parts.elements, options_.dtype(type));
  pack(source.device(), flat(source), send.parts, message);
  return message;
}

void Buffers::receive_in_place(const Round& round, std::vector<Transfer>& receives) {
  make_y(round.fills);
  const at::ScalarType type = type_of(round.sent_in);
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const auto& [peer, parts] = round.receives[i];
    buffers_.emplace_back();
    if (round.stays_at == i) continue;
    if (parts.direct() && type == own_type()) {
      receives.push_back({peer, {y_, parts.copies.front().to, parts.elements}});
    } else {
      buffers_.back() = new_tensor(parts.elements, options_.dtype(type));
      receives.push_back({peer, buffers_.back()});
    }
  }
}

at::Tensor Buffers::own_term(const Round& round) const {
  const Parts& stays = round.stays;
  if (rounds_->flat) return x_;  // a chunk is taken from it when it is combined
  if (stays.boxes.size() == 1) return narrow(x_, stays.boxes.front());
  at::Tensor term = at::empty({stays.elements}, options_);
  each_part(x_, stays, term, [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
  return term;
}

void Buffers::receive_terms(const Round& round, std::vector<Transfer>& receives) {
  buffers_.reserve(round.receives.size());
  const at::TensorOptions options = options_.dtype(type_of(round.sent_in));
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const auto& [peer, parts] = round.receives[i];
    if (round.stays_at == i) {
      buffers_.push_back(own_term(round));
      continue;
    }
    const at::IntArrayRef shape = round.whole && !round.into ? y_shape() : at::IntArrayRef(parts.elements);
    buffers_.push_back(new_tensor(shape, options));
    receives.push_back({peer, buffers_.back()});
  }
}

void Buffers::keep(const Round& round) {
  if (rounds_->flat) return;
  const at::Tensor x = std::exchange(x_, at::Tensor());  // it need not live as long as this
  if (!round.stays_at || round.combination != Combination::copy) return;
  stay(y_.device(), round, x, y_);
}

/// Terms that do not come in x's type are combined in the round's; the kernels add terms in x's so already.
void Buffers::convert_terms(const Round& round) {
  if (type_of(round.sent_in) == own_type()) return;
  for (at::Tensor& term : buffers_) term = term.to(type_of(round.combined_in));
}

void Buffers::combine(const Round& round) {
  if (round.combination != Combination::copy) convert_terms(round);
  if (std::exchange(combined_, false)) {
    // Nothing is left to do.
  } else if (round.combination == Combination::copy) {
    copy_parts(round);
  } else if (round.into) {
    make_y(true);
    if (round.into->size() > 0) combine_chunk(y_.device(), round, buffers_, y_);
  } else if (round.whole) {
    y_ = combined(buffers_, round.combination);
    if (y_.scalar_type() != own_type()) y_ = y_.to(own_type());
  } else {
    add_cells(round);
  }
  buffers_.clear();
  x_.reset();
}

void Buffers::copy_parts(const Round& round) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].defined()) unpack(y_.device(), buffers_[i], round.receives[i].parts, flat(y_));
  }
}

void Buffers::add_cells(const Round& round) {
  std::vector<std::vector<at::Tensor>> boxes;  // of each message
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    boxes.push_back(boxes_of(buffers_[i], round.receives[i].parts));
  make_y(true);
  for (const SumCell& cell : round.cells) {
    const at::Tensor place = narrow(y_, cell.box);
    std::vector<at::Tensor> terms;
    for (const SumCell::Term& term : cell.terms)
      terms.push_back(narrow(boxes[term.route][term.part], term.box));
    if (terms.empty())
      place.zero_();
    else if (terms.front().scalar_type() == own_type())
      ordered_sum_to(terms, place);
    else
      place.copy_(ordered_sum(terms));
  }
}

at::Tensor Buffers::finish() {
  x_.reset();
  return std::exchange(y_, at::Tensor());
}

}  // namespace riesz
