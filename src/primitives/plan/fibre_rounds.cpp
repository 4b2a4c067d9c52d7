// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/primitives/plan/fibre_rounds.h"

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

template <typename Chunk>
Round gather(const std::vector<int>& peers, std::size_t me, const Chunk& chunk) {
  Round round;
  round.source = Round::Source::y;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    if (i == me) continue;
    if (chunk(me).size() > 0) round.sends.push_back({peers[i], out(chunk(me)), !round.sends.empty()});
    if (chunk(i).size() > 0) round.receives.push_back({peers[i], in(chunk(i))});
  }
  return round;
}

}  // namespace

Rounds fibre_rounds(const Partition& partition, const std::vector<int>& axes, int rank, std::int64_t elements,
                    Round::Combination combination) {
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
  const auto p = static_cast<int>(peers.size());
  if (p == 2 && elements <= kSmallReduction) {
    rounds.rounds.push_back(reduce(peers, me, combination, [&](std::size_t) {
      return Interval{0, elements};
    }));
    return rounds;
  }
  const auto chunk = [&](std::size_t i) { return balanced_interval(elements, p, 1, static_cast<int>(i)); };
  rounds.rounds.push_back(reduce(peers, me, combination, chunk));
  rounds.rounds.back().into = chunk(me);
  rounds.rounds.push_back(gather(peers, me, chunk));
  return rounds;
}

}  // namespace riesz
