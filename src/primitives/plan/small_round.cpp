// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/small_round.h"

#include <ATen/ops/empty.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/without_values.h"

namespace riesz {

Signature SmallRound::signature(const Buffers& move, const Parts& parts) {
  const Label& label = *move.operation_->label;
  return {label.text(), label.digest(), parts.elements * move.element_size_, move.own_type_};
}

SmallRound::SmallRound(const Round& round) {
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    if (round.stays_at != i) left_.push_back(i);
  }
}

/// The part that stays is no message.
std::size_t SmallRound::number(const Round& round, std::size_t receive) {
  return round.stays_at && *round.stays_at < receive ? receive - 1 : receive;
}

bool SmallRound::fits(const Buffers& move, const Round& round, const Reservation& reservation) {
  return reservation.goes_now() && round.largest * move.element_size_ <= kMostNow && move.in_host_memory_ &&
         move.type_of(round.sent_in) == move.own_type() && move.source(round).is_contiguous() && has_values();
}

std::unique_ptr<Requests> SmallRound::begin(Buffers& move, const Round& round,
                                            const Reservation& reservation) {
  const auto* from = static_cast<const std::byte*>(move.source(round).const_data_ptr());
  // A large y may find no memory: that is to be known before anything has gone.
  const bool large = c10::multiply_integers(move.rounds_->y_shape) * move.element_size_ > kMostNow;
  if (large) make_room(move, round);
  std::vector<std::size_t> late;
  for (std::size_t i = 0; i < round.sends.size(); ++i) {
    const auto& [peer, parts, repeats] = round.sends[i];
    const auto pack = [&](std::byte* to) {
      for (const BoxCopy& copy : parts.copies) copy_box(from, to, copy, move.element_size_);
    };
    if (!reservation.send_now(i, peer, signature(move, parts), pack)) late.push_back(i);
  }
  sent_ = true;
  for (const int peer : round.from) reservation.prefetch_awaited(peer);
  if (!large) make_room(move, round);
  if (round.combination == Round::Combination::copy && round.stays_at) {  // of x, which is the source
    for (const BoxCopy& copy : round.stays.copies) copy_box(from, y_, copy, move.element_size_);
  }
  std::unique_ptr<Requests> requests;
  if (!late.empty()) requests = post(move, round, reservation, late);
  if (!move.rounds_->flat) move.x_.reset();  // it need not live as long as the move
  return requests;
}

/// For what comes.
void SmallRound::make_room(Buffers& move, const Round& round) {
  const bool copies = round.combination == Round::Combination::copy;
  move.combined_ = copies || adds_at_once(move, round);  // as messages come
  if (move.combined_) {
    move.make_y(!copies || round.fills);
    y_ = static_cast<std::byte*>(move.y_.mutable_data_ptr());
  } else {
    std::vector<Transfer> receives;
    move.receive_terms(round, receives);
  }
}

std::unique_ptr<Requests> SmallRound::post(const Buffers& move, const Round& round,
                                           const Reservation& reservation,
                                           const std::vector<std::size_t>& late) {
  std::vector<bool> which(round.sends.size(), false);
  std::vector<Transfer> transfers;
  for (const std::size_t i : late) {
    which[i] = true;
    const Round::Send& send = round.sends[i];
    transfers.push_back({send.peer, move.sent(move.source(round), send, move.own_type_)});
  }
  const Reservation rest = reservation.some(which, std::vector<bool>(reservation.receives().size()));
  return move.rounds_->detached ? rest.send(*move.operation_, std::move(transfers), {}, Counted::begun)
                                : rest.post(*move.operation_, std::move(transfers), {}, Counted::begun);
}

bool SmallRound::take(const Buffers& move, const Round& round, const Reservation& reservation) {
  auto still = left_.begin();
  for (auto each = left_.begin(); each != left_.end(); ++each) {
    const std::size_t i = *each;
    const auto& [peer, parts] = round.receives[i];
    const auto take = [&](const std::byte* from) { unpack(move, round, i, from); };
    try {
      if (!reservation.receive_now(number(round, i), peer, signature(move, parts), take)) *still++ = i;
    } catch (...) {
      left_.erase(still, each + 1);
      throw;
    }
  }
  left_.erase(still, left_.end());
  return left_.empty();
}

void SmallRound::give_up(const Buffers& move, const Round& round, const Reservation& reservation) const {
  std::vector<bool> which(reservation.receives().size());
  std::vector<Transfer> transfers;
  for (const std::size_t i : left_) {
    which[number(round, i)] = true;
    const auto& [peer, parts] = round.receives[i];
    transfers.push_back({peer, at::empty({parts.elements}, move.options_)});
  }
  const Reservation rest = reservation.some(std::vector<bool>(reservation.sends().size()), which);
  rest.post(*move.operation_, {}, std::move(transfers), Counted::begun);
}

/// Is it the sum of this worker's term and one other?
bool SmallRound::adds_at_once(const Buffers& move, const Round& round) {
  return round.combination == Round::Combination::sum && move.rounds_->flat && round.whole &&
         round.stays_at && round.receives.size() == 2 && sums_at_any_address(move.own_type_);
}

void SmallRound::unpack(const Buffers& move, const Round& round, std::size_t receive,
                        const std::byte* from) const {
  const Parts& parts = round.receives[receive].parts;
  if (round.combination == Round::Combination::copy) {
    for (const BoxCopy& copy : parts.copies) copy_box(from, y_, copy, move.element_size_);
  } else if (move.combined_) {
    add(move, round, receive, from);
  } else {
    const at::Tensor& term = move.buffers_[receive];
    if (parts.elements > 0) std::memcpy(term.mutable_data_ptr(), from, term.nbytes());
  }
}

void SmallRound::add(const Buffers& move, const Round& round, std::size_t receive,
                     const std::byte* from) const {
  const std::int64_t elements = round.receives[receive].parts.elements;
  const std::int64_t begin = round.into ? round.into->begin * move.element_size_ : 0;
  const auto* own = static_cast<const std::byte*>(move.x_.const_data_ptr()) + begin;
  const bool first = receive == 0;
  ordered_sum_into({first ? from : own, first ? own : from}, {y_ + begin}, elements, move.own_type_, false);
}

std::vector<int> SmallRound::waits_for(const Round& round) const {
  std::vector<int> peers;
  for (const std::size_t i : left_) peers.push_back(round.receives[i].peer);
  return peers;
}

}  // namespace riesz
