// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/buffers.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/minimum.h>
#include <ATen/ops/zeros.h>

#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/partition/vector.h"

namespace riesz {
namespace {

using Combination = Round::Combination;

/// Can the kernel copy from it and into it?
bool plain(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.is_contiguous(); }

/// As at::empty, which takes three times as long to find that out.
at::Tensor room_for(at::IntArrayRef shape, const at::TensorOptions& options) {
  if (!options.device().is_cpu()) return at::empty(shape, options);
  return at::detail::empty_cpu(shape, options.dtype().toScalarType());
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

void pack(const at::Tensor& tensor, const Parts& parts, const at::Tensor& message) {
  if (plain(tensor)) {
    for (const BoxCopy& copy : parts.copies) copy_box(tensor, message, copy);
    return;
  }
  each_part(tensor, parts, message, [](const at::Tensor& from, const at::Tensor& to) { to.copy_(from); });
}

void unpack(const at::Tensor& message, const Parts& parts, const at::Tensor& tensor) {
  if (plain(tensor)) {
    for (const BoxCopy& copy : parts.copies) copy_box(message, tensor, copy);
    return;
  }
  each_part(tensor, parts, message, [](const at::Tensor& to, const at::Tensor& from) { to.copy_(from); });
}

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

bool differentiable(at::ScalarType type) { return at::isFloatingType(type) || at::isComplexType(type); }

at::Tensor combined(const std::vector<at::Tensor>& terms, Combination combination) {
  if (combination == Combination::sum) return ordered_sum(terms);
  const auto pointwise = combination == Combination::greatest ? at::maximum : at::minimum;
  at::Tensor y = terms.front();
  for (std::size_t i = 1; i < terms.size(); ++i) y = pointwise(y, terms[i]);
  return y;
}

}  // namespace

void Buffers::begin(const at::Tensor& x) {
  x_ = rounds_->flat ? x.contiguous() : x;
  options_ = at::TensorOptions().dtype(x.dtype()).device(x.device());
  if (rounds_->identity) y_ = x_;
}

void Buffers::make_y(bool fills) {
  if (!y_.defined()) y_ = fills ? room_for(y_shape(), options_) : at::zeros(y_shape(), options_);
}

void Buffers::collect(const Round& round, bool merged, std::vector<Transfer>& sends,
                      std::vector<Transfer>& receives) {
  const at::Tensor& from = source(round);
  for (const Round::Send& send : round.sends) {
    if (send.parts.elements == 0 && merged) continue;
    sends.push_back({send.peer, send.repeats ? sends.back().span : sent(from, send)});
  }
  const bool type_from_message =
      round.receives.size() == 1 && !round.stays_at && round.receives.front().parts.elements == 0;
  if (rounds_->not_in_domain && !round.receives.empty() && x_.is_cpu() && !merged)
    receive_as_sent(round, receives);
  else if (round.combination != Combination::place)
    receive_terms(round, receives);
  else
    receive_in_place(round, receives);
  if (merged && type_from_message) receives.pop_back();
}

TensorSpan Buffers::sent(const at::Tensor& source, const Round::Send& send) const {
  if (send.parts.direct() && source.is_contiguous() && !rounds_->detached)
    return {source, send.parts.copies.front().from, send.parts.elements};
  at::Tensor message = room_for(send.parts.elements, options_);
  if (send.parts.elements > 0) pack(source, send.parts, message);
  return message;
}

void Buffers::receive_as_sent(const Round& round, std::vector<Transfer>& receives) {
  for (const Round::Receive& receive : round.receives) {
    arrived_.push_back(std::make_shared<at::Tensor>());
    receives.push_back({receive.peer, {x_, 0, receive.parts.elements}, operation_->label, arrived_.back()});
  }
}

/// x, which has no elements here, has said whether gradients are recorded, and no more.
void Buffers::take_as_sent(const Round& round) {
  const at::ScalarType type = arrived_.front()->scalar_type();
  const int first = round.receives.front().peer;
  for (std::size_t i = 0; i < arrived_.size(); ++i) {
    const at::Tensor& message = *arrived_[i];
    RIESZ_CHECK(message.scalar_type() == type, operation_->text, ": rank ", round.receives[i].peer, " sent ",
                message.scalar_type(), " and rank ", first, " ", type,
                "; the parts of a vector are of one type");
    buffers_.push_back(round.whole ? message.view(y_shape()) : message);
  }
  RIESZ_CHECK(differentiable(type) == differentiable(options_.dtype().toScalarType()), operation_->text,
              ": rank ", first, " sent ", type, " to this worker, which gave an empty tensor of ",
              options_.dtype(),
              "; where the one has gradients the other must, so give one of at::kFloat, or of at::kLong");
  options_ = buffers_.front().options();
  arrived_.clear();
  if (round.combination != Combination::place) return;
  if (round.whole && round.fills)
    y_ = std::exchange(buffers_.front(), at::Tensor());
  else
    make_y(round.fills);
}

void Buffers::receive_in_place(const Round& round, std::vector<Transfer>& receives) {
  make_y(round.fills);
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const auto& [peer, parts] = round.receives[i];
    buffers_.emplace_back();
    if (round.stays_at == i) continue;
    if (parts.direct()) {
      receives.push_back({peer, {y_, parts.copies.front().to, parts.elements}});
    } else {
      buffers_.back() = room_for(parts.elements, options_);
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
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    const auto& [peer, parts] = round.receives[i];
    if (round.stays_at == i) {
      buffers_.push_back(own_term(round));
      continue;
    }
    const at::IntArrayRef shape = round.whole && !round.into ? y_shape() : at::IntArrayRef(parts.elements);
    buffers_.push_back(room_for(shape, options_));
    receives.push_back({peer, buffers_.back()});
  }
}

void Buffers::keep(const Round& round) {
  if (rounds_->flat) return;
  const at::Tensor x = std::exchange(x_, at::Tensor());  // it need not live as long as this
  if (!round.stays_at || round.combination != Combination::place) return;
  if (plain(x) && plain(y_)) {
    for (const BoxCopy& copy : round.stays.copies) copy_box(x, y_, copy);
    return;
  }
  const Parts& there = round.receives[*round.stays_at].parts;
  for (std::size_t part = 0; part < there.boxes.size(); ++part)
    narrow(y_, there.boxes[part]).copy_(narrow(x, round.stays.boxes[part]));
}

void Buffers::combine(const Round& round) {
  if (!arrived_.empty()) take_as_sent(round);
  if (std::exchange(combined_, false)) {
    // Nothing is left to do.
  } else if (round.combination == Combination::place) {
    place(round);
  } else if (round.into) {
    make_y(true);
    if (round.into->size() > 0) combine_chunk(round);
  } else if (round.whole) {
    y_ = combined(buffers_, round.combination);
  } else {
    add_cells(round);
  }
  buffers_.clear();
  x_.reset();
}

void Buffers::place(const Round& round) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (buffers_[i].defined() && buffers_[i].numel() > 0) unpack(buffers_[i], round.receives[i].parts, y_);
  }
}

void Buffers::combine_chunk(const Round& round) {
  const Interval& chunk = *round.into;
  const std::int64_t begin = chunk.begin * static_cast<std::int64_t>(y_.element_size());
  if (round.combination == Combination::sum && y_.is_cpu()) {  // a view costs more than a small sum
    std::vector<const std::byte*> terms;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const auto* first = static_cast<const std::byte*>(buffers_[i].const_data_ptr());
      terms.push_back(round.stays_at == i ? first + begin : first);
    }
    auto* y = static_cast<std::byte*>(y_.mutable_data_ptr());
    return ordered_sum_into(terms, {y + begin}, chunk.size(), y_.scalar_type(), false);
  }
  const auto part = [&](const at::Tensor& flat) {
    return flat.view({-1}).narrow(0, chunk.begin, chunk.size());
  };
  at::Tensor& own = buffers_[*round.stays_at];
  own = part(own);
  part(y_).copy_(combined(buffers_, round.combination));
}

void Buffers::add_cells(const Round& round) {
  std::vector<std::vector<at::Tensor>> boxes;  // of each message
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    boxes.push_back(boxes_of(buffers_[i], round.receives[i].parts));
  make_y(true);
  for (const SumCell& cell : round.cells) {
    const at::Tensor place = narrow(y_, cell.place);
    std::vector<at::Tensor> terms;
    for (const SumCell::Term& term : cell.terms)
      terms.push_back(narrow(boxes[term.route][term.part], term.box));
    if (terms.empty())
      place.zero_();
    else
      ordered_sum_to(terms, place);
  }
}

at::Tensor Buffers::finish() {
  x_.reset();
  return std::exchange(y_, at::Tensor());
}

}  // namespace riesz
