// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/small_round.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "riesz/comm/sum/ordered_sum.h"
#include "riesz/comm/without_values.h"

namespace riesz {
namespace {

/// Are its elements, as they lie in memory, what is sent?
bool packs_from(const at::Tensor& source, at::ScalarType type) {
  return source.is_contiguous() && source.scalar_type() == type;
}

}  // namespace

Signature SmallRound::signature(const Buffers& move, const Parts& parts) {
  const Label& label = *move.operation_->label;
  return {label.text(), label.digest(), parts.elements * move.element_size_, move.own_type_};
}

bool SmallRound::fits(const Buffers& move, const Round& round) {
  if (!move.in_host_memory_ || !has_values()) return false;
  if (move.type_of(round.sent_in) != move.own_type()) return false;
  if (!round.sends.empty() && !packs_from(move.source(round), move.own_type())) return false;
  if (round.largest * move.element_size_ > kMostAtOnce) return false;
  const Communicator& world = Communicator::world();
  const auto near = [&](int peer) { return world.moves_at_once(peer); };
  return std::all_of(round.to.begin(), round.to.end(), near) &&
         std::all_of(round.from.begin(), round.from.end(), near);
}

SmallRound::Late SmallRound::begin(Buffers& move, const Round& round, const Reservation& reservation) {
  if (round.combination == Round::Combination::copy) {
    move.make_y(round.fills);
  } else if (adds_at_once(move, round)) {
    move.make_y(true);
    move.combined_ = true;
  } else {
    std::vector<Transfer> receives;
    move.receive_terms(round, receives);
  }
  Late late;
  for (std::size_t i = 0; i < round.sends.size(); ++i) {
    const auto& [peer, parts, repeats] = round.sends[i];
    const at::Tensor& source = move.source(round);
    const auto pack = [&](std::byte* to) {
      const auto* from = static_cast<const std::byte*>(source.const_data_ptr());
      for (const BoxCopy& copy : parts.copies) copy_box(from, to, copy, move.element_size_);
    };
    if (reservation.send_now(i, peer, signature(move, parts), pack)) continue;
    late.which.resize(round.sends.size(), false);
    late.which[i] = true;
    late.transfers.push_back({peer, move.sent(source, round.sends[i], move.own_type())});
  }
  return late;
}

bool SmallRound::take(Buffers& move, const Round& round, const Reservation& reservation) {
  std::size_t message = 0;
  for (std::size_t i = 0; left_ > 0 && i < round.receives.size(); ++i) {
    if (round.stays_at == i) continue;
    const std::size_t number = message++;
    if (has_come_[i]) continue;
    const auto& [peer, parts] = round.receives[i];
    const Signature expected = signature(move, parts);
    const auto take = [&](const std::byte* from) { unpack(move, round, i, from); };
    try {
      has_come_[i] = reservation.receive_now(number, peer, expected, take);
    } catch (...) {
      has_come_[i] = true;
      --left_;
      throw;
    }
    if (has_come_[i]) --left_;
  }
  return left_ == 0;
}

void SmallRound::give_up(const Buffers& move, const Round& round, const Reservation& reservation) const {
  std::vector<bool> which;
  std::vector<Transfer> transfers;
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    if (round.stays_at == i) continue;
    which.push_back(!has_come_[i]);
    const auto& [peer, parts] = round.receives[i];
    if (which.back()) transfers.push_back({peer, at::empty({parts.elements}, move.options_)});
  }
  const Reservation rest = reservation.some(std::vector<bool>(reservation.sends().size()), which);
  rest.post(*move.operation_, {}, std::move(transfers), Count::begun);
}

/// Is it the sum of this worker's term and one other?
bool SmallRound::adds_at_once(const Buffers& move, const Round& round) {
  return round.combination == Round::Combination::sum && move.rounds_->flat && round.whole &&
         round.stays_at && round.receives.size() == 2 &&
         sums_at_any_address(move.own_type_);
}

void SmallRound::unpack(Buffers& move, const Round& round, std::size_t receive, const std::byte* from) {
  const Parts& parts = round.receives[receive].parts;
  if (round.combination == Round::Combination::copy) {
    auto* y = static_cast<std::byte*>(move.y_.mutable_data_ptr());
    for (const BoxCopy& copy : parts.copies) copy_box(from, y, copy, move.element_size_);
  } else if (move.combined_) {
    add(move, round, receive, from);
  } else {
    const at::Tensor& term = move.buffers_[receive];
    if (parts.elements > 0) std::memcpy(term.mutable_data_ptr(), from, term.nbytes());
  }
}

void SmallRound::add(Buffers& move, const Round& round, std::size_t receive, const std::byte* from) {
  const std::int64_t elements = round.receives[receive].parts.elements;
  const std::int64_t begin =
      round.into ? round.into->begin * move.element_size_ : 0;
  const auto* own = static_cast<const std::byte*>(move.x_.const_data_ptr()) + begin;
  auto* y = static_cast<std::byte*>(move.y_.mutable_data_ptr()) + begin;
  const bool first = receive == 0;
  ordered_sum_into({first ? from : own, first ? own : from}, {y}, elements, move.y_.scalar_type(), false);
}

std::vector<int> SmallRound::waits_for(const Round& round) const {
  std::vector<int> peers;
  for (std::size_t i = 0; i < round.receives.size(); ++i) {
    if (round.stays_at != i && !has_come_[i]) peers.push_back(round.receives[i].peer);
  }
  return peers;
}

}  // namespace riesz
