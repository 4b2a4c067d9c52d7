// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "rehearsal.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <tuple>
#include <utility>

namespace riesz::testing {
namespace {

using EventKind = RecordedEvent::Kind;
using End =
    std::tuple<int, int, int, std::int64_t, bool>;  // sender, receiver, channel, number, the sender's?

End end_of(int rank, const RecordedMessage& message, bool other) {
  const bool sent = message.sent;
  return {sent ? rank : message.peer, sent ? message.peer : rank, message.channel, message.number,
          sent != other};
}

class Rehearsal {
 public:
  Rehearsal(const std::vector<Recording>& recordings, std::int64_t untaken, std::uint64_t seed)
      : all_(recordings), untaken_(untaken), random_(seed) {
    for (std::size_t rank = 0; rank < all_.size(); ++rank) {
      for (std::size_t strand = 0; strand < all_[rank].strands; ++strand)
        strands_.push_back({rank, strand, strand == 0, {}, 0});
      for (std::size_t e = 0; e < all_[rank].events.size(); ++e)
        find(rank, all_[rank].events[e].strand).events.push_back(e);
    }
  }

  bool operator()() {
    while (step()) {
    }
    return std::all_of(strands_.begin(), strands_.end(),
                       [](const Strand& each) { return each.next == each.events.size(); });
  }

 private:
  struct Strand {
    std::size_t rank, number;
    bool begun;
    std::vector<std::size_t> events;
    std::size_t next;
  };

  Strand& find(std::size_t rank, std::size_t number) {
    return *std::find_if(strands_.begin(), strands_.end(),
                         [&](const Strand& each) { return each.rank == rank && each.number == number; });
  }

  bool step() {
    const std::size_t first = random_() % strands_.size();
    for (std::size_t i = 0; i < strands_.size(); ++i) {
      Strand& strand = strands_[(first + i) % strands_.size()];
      if (!strand.begun || strand.next == strand.events.size() || !can(strand)) continue;
      happens(strand);
      return true;
    }
    return false;
  }

  bool taken(std::size_t rank, std::size_t round) const {
    const RecordedRound& of = all_[rank].rounds[round];
    return std::all_of(all_[rank].messages.begin() + static_cast<std::ptrdiff_t>(of.first),
                       all_[rank].messages.begin() + static_cast<std::ptrdiff_t>(of.last),
                       [&](const RecordedMessage& each) {
                         return posted_.contains(end_of(static_cast<int>(rank), each, true));
                       });
  }

  std::int64_t left(std::size_t rank, std::size_t round) const {
    if (taken(rank, round)) return 0;
    std::int64_t bytes = 0;
    const RecordedRound& of = all_[rank].rounds[round];
    for (std::size_t m = of.first; m < of.last; ++m) bytes += all_[rank].messages[m].bytes();
    return bytes;
  }

  bool has_room(std::size_t rank, std::size_t round) {
    std::int64_t all = 0;
    for (const std::size_t each : sent_[rank]) all += left(rank, each);
    return untaken_ == 0 || all <= untaken_ || all <= left(rank, round);
  }

  bool can(const Strand& strand) {
    const Recording& of = all_[strand.rank];
    if (strand.next > 0) {
      const RecordedEvent& before = of.events[strand.events[strand.next - 1]];
      const bool thread = std::count(of.threads.begin(), of.threads.end(), strand.number) > 0;
      if (thread && before.kind == EventKind::post && of.rounds[before.subject].let_go &&
          !has_room(strand.rank, before.subject))
        return false;
    }
    const RecordedEvent& event = of.events[strand.events[strand.next]];
    if (event.kind == EventKind::wait) return taken(strand.rank, event.subject);
    if (event.kind != EventKind::join) return true;
    const Strand& other = find(strand.rank, event.subject);
    return other.next == other.events.size();
  }

  void happens(Strand& strand) {
    const Recording& of = all_[strand.rank];
    const RecordedEvent& event = of.events[strand.events[strand.next++]];
    if (event.kind == EventKind::begin) find(strand.rank, event.subject).begun = true;
    if (event.kind != EventKind::post) return;
    const RecordedRound& round = of.rounds[event.subject];
    for (std::size_t m = round.first; m < round.last; ++m)
      posted_.insert(end_of(of.rank, of.messages[m], false));
    if (round.let_go) sent_[strand.rank].push_back(event.subject);
  }

  const std::vector<Recording>& all_;
  std::int64_t untaken_;
  std::mt19937_64 random_;
  std::vector<Strand> strands_;
  std::set<End> posted_;
  std::map<std::size_t, std::vector<std::size_t>> sent_;  // by rank: rounds that nobody waits for
};

}  // namespace

bool comes_to_its_end(const std::vector<Recording>& recordings, std::int64_t untaken, std::uint64_t seed) {
  return Rehearsal(recordings, untaken, seed)();
}

bool all_messages_meet(const std::vector<Recording>& recordings) {
  std::map<End, const RecordedMessage*> ends;
  for (const Recording& of : recordings) {
    for (const RecordedMessage& each : of.messages) ends[end_of(of.rank, each, false)] = &each;
  }
  const auto meets = [&](const std::pair<const End, const RecordedMessage*>& one) {
    const auto& [sender, receiver, channel, number, sent] = one.first;
    const auto other = ends.find({sender, receiver, channel, number, !sent});
    if (other == ends.end()) return false;
    const RecordedMessage &a = *one.second, &b = *other->second;
    return a.elements == b.elements && a.label->digest() == b.label->digest() && a.type == b.type;
  };
  return std::all_of(ends.begin(), ends.end(), meets);
}

}  // namespace riesz::testing
