// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/fibre_rounds.h"

#include <optional>
#include <utility>

#include "riesz/partition/split.h"

namespace riesz {
namespace {

Parts row(const Interval& interval) {
  return {{{interval}}, {{interval.begin, interval.begin, interval.size(), {}}}, interval.size()};
}

/// In a message it begins at 0.
Parts out(const Interval& interval) {
  Parts parts = row(interval);
  parts.copies.front().to = 0;
  return parts;
}

Parts in(const Interval& interval) {
  Parts parts = row(interval);
  parts.copies.front().from = 0;
  return parts;
}

/// Each worker's `chunk` is combined there; a worker whose chunk is empty receives nothing.
template <typename Chunk>
Round reduce(const std::vector<int>& peers, std::size_t me, Round::Combination combination,
             const Chunk& chunk) {
  Round round;
  round.combination = combination;
  if (combination == Round::Combination::sum) round.combined_in = Round::Type::sums;
  round.whole = true;
  round.stays = row(chunk(me));
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i != me && chunk(i).size() > 0) round.sends.push_back({peers[i], out(chunk(i))});
    if (chunk(me).size() == 0) continue;
    if (i == me) round.stays_at = i;
    round.receives.push_back({peers[i], in(chunk(me))});
  }
  return round;
}

/// What `from` sends to the host of `to`, if several workers there get it.
std::optional<HostCopy> copy_of(const std::vector<int>& peers, std::size_t from, std::size_t to,
                                std::int64_t elements, const Hosts& hosts) {
  if (!on_two_hosts(hosts, peers[from], peers[to])) return std::nullopt;
  HostCopy copy{static_cast<int>(from), {}, elements};
  for (const int peer : peers) {
    if (!on_two_hosts(hosts, peer, peers[to])) copy.receivers.push_back(peer);
  }
  return copy.receivers.size() > 1 ? std::optional(std::move(copy)) : std::nullopt;
}

/// The rounds that bring each chunk to all.
template <typename Chunk>
std::vector<Round> gather(const std::vector<int>& peers, std::size_t me, std::int64_t elements,
                          const Chunk& chunk, const Hosts& hosts) {
  Round round;
  round.source = Round::Source::y;
  std::vector<CopyInY> copies;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i == me) continue;
    if (const auto copy = copy_of(peers, me, i, chunk(me).size(), hosts)) {
      for (const Box& piece : copy->piece_for(peers[i], {{chunk(me)}}))
        if (volume(piece) > 0) round.sends.push_back({peers[i], out(piece.front())});
    } else if (chunk(me).size() > 0) {
      const bool repeats = !round.sends.empty() && round.sends.back().parts.elements == chunk(me).size();
      round.sends.push_back({peers[i], out(chunk(me)), repeats});
    }
    if (auto copy = copy_of(peers, i, me, chunk(i).size(), hosts)) {
      for (const Box& piece : copy->piece_for(peers[me], {{chunk(i)}}))
        if (volume(piece) > 0) round.receives.push_back({peers[i], in(piece.front())});
      if (chunk(i).size() > 0) copies.emplace_back(std::move(*copy), std::vector<Box>{{chunk(i)}});
    } else if (chunk(i).size() > 0) {
      round.receives.push_back({peers[i], in(chunk(i))});
    }
  }
  if (copies.empty()) return {std::move(round)};
  return {std::move(round), spread(copies, peers[me], {elements})};
}

}  // namespace

Rounds fibre_rounds(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements,
                    Round::Combination combination, const Hosts& hosts) {
  std::vector<int> peers;
  std::size_t me = 0;
  for (const int each : partition.fibre(rank, axes)) {
    if (each == rank) me = peers.size();
    peers.push_back(partition.world_rank(each));
  }
  Rounds rounds;
  rounds.flat = true;
  rounds.identity = peers.size() == 1 || elements == 0;
  if (rounds.identity) return rounds;
  rounds.team = std::make_shared<const std::vector<int>>(peers);
  if (combination == Round::Combination::sum) rounds.collective = LibraryCollective::all_reduce;
  const auto p = static_cast<int>(peers.size());
  if (p == 2 && elements <= kSmallReduction) {
    rounds.add(reduce(peers, me, combination, [&](std::size_t) { return Interval{0, elements}; }));
    return rounds;
  }
  const auto chunk = [&](std::size_t i) { return balanced_interval(elements, p, 1, static_cast<int>(i)); };
  rounds.add(reduce(peers, me, combination, chunk));
  rounds.rounds.back().into = chunk(me);
  for (Round& round : gather(peers, me, elements, chunk, hosts)) rounds.add(std::move(round));
  return rounds;
}

}  // namespace riesz
