// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/execution.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/counters.h"
#include "riesz/comm/progress/given_up.h"
#include "riesz/comm/wait.h"

namespace riesz {
namespace {

/// The rounds that there are, of whatever move.
std::size_t most_rounds(const c10::SmallVector<Buffers, 1>& moves) {
  std::size_t most = 0;
  for (const Buffers& each : moves) most = std::max(most, each.rounds().rounds.size());
  return most;
}

const Round* round_of(const Buffers& move, std::size_t round) {
  const std::vector<Round>& rounds = move.rounds().rounds;
  return round < rounds.size() ? &rounds[round] : nullptr;
}

/// One message each.
void unite(c10::SmallVector<int, 8>& peers) {
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
}

}  // namespace

Execution::Execution(const Operation& operation, const Rounds& rounds)
    : operation_(&operation), merged_(false) {
  moves_.emplace_back(operation, rounds);
  reserve();
}

Execution::Execution(const Operation& together, c10::ArrayRef<Move> moves)
    : operation_(&together), merged_(true) {
  for (const Move& move : moves) moves_.emplace_back(*move.operation, *move.rounds);
  reserve();
}

Execution::~Execution() {
  try {
    ring();
  } catch (...) {  // an error is under way already
  }
  try {
    give_up_what_is_left();
  } catch (...) {  // as above
  }
}

void Execution::give_up_what_is_left() {
  if (round_ >= reservations_.size()) return;
  const bool sent = small_ ? small_->sent() : sent_;
  if (small_ && sent && !small_->has_all() && reservations_[round_].lives()) {
    const Buffers& move = moves_.front();
    small_->give_up(move, *round_of(move, round_), reservations_[round_]);
  }
  std::vector<UnsentRound> unsent;
  for (std::size_t k = round_ + (sent ? 1 : 0); k < reservations_.size(); ++k) {
    if (!reservations_[k].lives()) continue;
    const auto [to, from] = peers_of(k);
    unsent.push_back({reservations_[k], {to.begin(), to.end()}, {from.begin(), from.end()}});
  }
  give_up(*operation_, std::move(unsent));
}

void Execution::reserve(c10::ArrayRef<int> to, c10::ArrayRef<int> from) {
  if (to.empty() && from.empty())
    reservations_.emplace_back();
  else
    reservations_.emplace_back(Communicator::world(), to, from);
}

std::pair<Execution::Peers, Execution::Peers> Execution::peers_of(std::size_t k) const {
  Peers to, from;
  for (const Buffers& move : moves_) {
    const Round* round = round_of(move, k);
    if (round == nullptr) continue;
    to.append(round->to.begin(), round->to.end());
    from.append(round->from.begin(), round->from.end());
  }
  if (merged_) {
    unite(to);
    unite(from);
  }
  return {to, from};
}

void Execution::reserve() {
  if (!merged_) {
    for (const Round& round : moves_.front().rounds().rounds) reserve(round.to, round.from);
    return;
  }
  const std::size_t rounds = most_rounds(moves_);
  for (std::size_t k = 0; k < rounds; ++k) {
    const auto [to, from] = peers_of(k);
    reserve(to, from);
  }
}

void Execution::launch() {
  if (!moves_.front().in_host_memory()) stream_ = DeviceStream(moves_.front().device());
  if (round_ < reservations_.size() && !begin_collective()) begin_round();
}

/// All rounds of a move, as one collective of the device's library. Rounds that are merged stay rounds.
bool Execution::begin_collective() {
  Buffers& move = moves_.front();
  const Rounds& rounds = move.rounds();
  if (merged_ || staged_ || !rounds.collective || move.in_host_memory()) return false;
  const std::string& text = move.operation().text;
  DeviceTransport* transport = Communicator::world().device_transport(move.device(), rounds.team, text);
  if (transport == nullptr || !transport->has(*rounds.collective, rounds.team, move.type())) return false;
  const auto [x, y] = move.ends();
  const Round& first = rounds.rounds.front();
  std::vector<Transfer> sends, receives;
  for (const Round::Send& send : first.sends) sends.push_back({send.peer, {x, 0, send.parts.elements}});
  for (std::size_t i = 0; i < first.receives.size(); ++i) {
    const Round::Receive& receive = first.receives[i];
    if (first.stays_at != i) receives.push_back({receive.peer, {x, 0, receive.parts.elements}});
  }
  Traffic sent = rounds.traffic();
  sent.bytes = sent.elements * move.element_size();
  reservations_.front().post(move.operation(), *transport, rounds.team, *rounds.collective, x, y,
                             std::move(sends), std::move(receives), sent);
  round_ = reservations_.size();
  return true;
}

void Execution::begin_round() {
  if (!merged_ && begin_small_round()) return;
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  for (Buffers& move : moves_) {
    const Round* round = round_of(move, round_);
    if (round == nullptr) continue;
    const std::size_t before = sends.size();
    move.collect(*round, sends, receives);
    if (!merged_) continue;
    Traffic sent = traffic_of(c10::ArrayRef<Transfer>(sends).slice(before));
    sent.messages = 0;
    Counters::instance().add(move.operation(), sent);
    for (std::vector<Transfer>* transfers : {&sends, &receives}) {
      for (Transfer& transfer : *transfers) {
        if (!transfer.label) transfer.label = move.operation().label;
      }
    }
  }
  if (!sends.empty() || !receives.empty()) post(std::move(sends), std::move(receives));
  sent_ = true;
  for (Buffers& move : moves_) {
    if (const Round* round = round_of(move, round_)) move.keep(*round);
  }
}

/// The team of all moves, if it is the same.
CallTeam Execution::team_of_all() const {
  const CallTeam& first = moves_.front().rounds().team;
  for (const Buffers& move : moves_) {
    const CallTeam& other = move.rounds().team;
    if (first == nullptr || other == nullptr || *first != *other) return nullptr;
  }
  return first;
}

void Execution::post(std::vector<Transfer> sends, std::vector<Transfer> receives) {
  const Reservation& reservation = reservations_[round_];
  if (merged_) {
    packed_.emplace(*operation_, std::move(sends), std::move(receives));
    std::vector<Transfer> out = packed_->sends();
    std::vector<Transfer> in = packed_->receives();
    Counters::instance().add(*operation_, {0, 0, static_cast<std::int64_t>(out.size())});
    const CallTeam team = team_of_all();
    if (in.empty() && team == nullptr)
      reservation.send(*operation_, std::move(out), {}, Counted::nothing);
    else
      requests_ = reservation.post(*operation_, std::move(out), std::move(in), Counted::nothing, team);
  } else if (!moves_.front().rounds().detached) {
    requests_ = reservation.post(*operation_, std::move(sends), std::move(receives), Counted::sent,
                                 staged_ ? nullptr : moves_.front().rounds().team);
  } else {
    requests_ = reservation.send(*operation_, std::move(sends), std::move(receives));
  }
}

bool Execution::begin_small_round() {
  Buffers& move = moves_.front();
  const Round* round = round_of(move, round_);
  const Reservation& reservation = reservations_[round_];
  if (round == nullptr || round->empty() || !SmallRound::fits(move, *round, reservation)) return false;
  Traffic sent = round->traffic;
  sent.bytes = sent.elements * move.element_size();
  reservation.begin(move.operation(), sent);
  small_.emplace(*round);
  unrung_ = !round->sends.empty();
  requests_ = small_->begin(move, *round, reservation);
  return true;
}

/// To ring, a worker waits until all that it wrote can be seen. So it takes first what has come.
bool Execution::round_done() {
  if (small_) {
    const Round& round = *round_of(moves_.front(), round_);
    const bool all = small_->take(moves_.front(), round, reservations_[round_]);
    // To take rings too, where it takes from; if not all has come, also the others' messages are to move.
    unrung_ = !all || (unrung_ && !round.answered);
    ring();
    if (!all) return false;
  }
  return !requests_ || requests_->done();
}

void Execution::ring() {
  if (std::exchange(unrung_, false)) Communicator::world().progress_near();
}

void Execution::end_round() {
  sent_ = true;
  small_.reset();
  requests_.reset();
  if (packed_) packed_->unpack();
  packed_.reset();
  for (Buffers& move : moves_) {
    if (const Round* round = round_of(move, round_)) move.combine(*round);
  }
  ++round_;
  sent_ = false;
}

bool Execution::progress() {
  const DeviceStream::Scope queued(stream_);
  while (round_ < reservations_.size()) {
    if (!round_done()) return false;
    end_round();
    if (round_ < reservations_.size()) begin_round();
  }
  return true;
}

std::vector<int> Execution::waits_for() const {
  std::vector<int> ranks;
  if (small_) ranks = small_->waits_for(*round_of(moves_.front(), round_));
  if (requests_) {
    for (const int rank : requests_->unfinished()) {
      if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
    }
  }
  return ranks;
}

at::Tensor execute(const Operation& operation, const Rounds& rounds, at::Tensor x) {
  Execution execution(operation, rounds);
  execution.give(0, std::move(x));
  execution.launch();
  wait_until(
      operation.text, [&] { return execution.progress(); }, [&] { return execution.waits_for(); });
  return execution.result();
}

}  // namespace riesz
