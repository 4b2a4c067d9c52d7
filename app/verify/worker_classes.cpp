// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/verify/worker_classes.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "riesz/comm/error.h"
#include "riesz/comm/label.h"

namespace riesz::app {
namespace {

/// What a worker says to each peer and expects from it, in order.
std::unordered_map<int, std::uint64_t> conversations(const Recording& recording) {
  std::unordered_map<int, DigestBuilder> all;
  for (const RecordedMessage& message : recording.messages) {
    all[message.peer]
        .mix(message.sent ? 1 : 0)
        .mix(message.label->digest())
        .mix(static_cast<std::uint64_t>(message.elements))
        .mix(static_cast<std::uint64_t>(message.type));
  }
  std::unordered_map<int, std::uint64_t> values;
  for (const auto& [peer, digest] : all) values[peer] = digest.value();
  return values;
}

/// The messages of a round, in an order that does not depend on the order of peers.
auto in_order(const Recording& recording, const RecordedRound& round, const std::function<int(int)>& name) {
  std::vector<std::tuple<int, bool, int, std::int64_t, std::int64_t, int>> all;
  for (std::size_t m = round.first; m < round.last; ++m) {
    const RecordedMessage& message = recording.messages[m];
    all.emplace_back(name(message.peer), message.sent, message.channel, message.number, message.elements,
                     static_cast<int>(message.type));
  }
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace

WorkerClasses::WorkerClasses(Partition job) : job_(std::move(job)), pp_(job_.find("pp")) {
  const int stages = pp_ < 0 ? 1 : job_.axis(pp_).extent;
  for (int stage = 0; stage < stages; ++stage) {
    for (int axis = 0; axis < static_cast<int>(job_.axes().size()); ++axis) {
      if (axis == pp_) continue;
      begins(stage, axis) = {0};
      if (job_.axis(axis).extent > 1) begins(stage, axis).insert(1);
    }
  }
}

void WorkerClasses::divide_all() {
  for (auto& [place, all] : begins_) {
    for (int c = 0; c < job_.axis(place.second).extent; ++c) all.insert(c);
  }
}

int WorkerClasses::stage_of(const std::vector<int>& coordinates) const {
  return pp_ < 0 ? 0 : coordinates[static_cast<std::size_t>(pp_)];
}

int WorkerClasses::corner(int rank, bool last) const {
  std::vector<int> at = job_.coordinates(rank);
  const int stage = stage_of(at);
  for (int axis = 0; axis < static_cast<int>(at.size()); ++axis) {
    if (axis == pp_) continue;
    int& c = at[static_cast<std::size_t>(axis)];
    const std::set<int>& all = begins_.at({stage, axis});
    const auto next = all.upper_bound(c);
    c = last ? (next == all.end() ? job_.axis(axis).extent : *next) - 1 : *std::prev(next);
  }
  return job_.rank_of(at);
}

std::vector<int> WorkerClasses::firsts() const {
  std::vector<int> all;
  for (int rank = 0; rank < job_.size(); ++rank) {
    if (first_of(rank) == rank) all.push_back(rank);
  }
  return all;
}

std::int64_t WorkerClasses::size_of(int rank) const {
  const std::vector<int> from = job_.coordinates(first_of(rank)), to = job_.coordinates(last_of(rank));
  std::int64_t size = 1;
  for (std::size_t axis = 0; axis < from.size(); ++axis) size *= to[axis] - from[axis] + 1;
  return size;
}

bool WorkerClasses::refine(const Recording& recording, const Pieces& pieces) {
  const auto said = conversations(recording);
  const auto to = [&](int rank) {
    const auto found = said.find(job_.world_rank(rank));
    return found == said.end() ? std::uint64_t{0} : found->second;
  };
  const std::vector<int> here = job_.coordinates(recording.rank);
  const int stage = stage_of(here);
  bool divided = false;
  for (int axis = 0; axis < static_cast<int>(here.size()); ++axis) {
    if (axis == pp_) continue;
    const std::vector<std::uint64_t>& held = pieces[static_cast<std::size_t>(axis)];
    for (std::size_t c = 1; c < held.size(); ++c)
      if (held[c] != held[c - 1]) divided = begins(stage, axis).insert(static_cast<int>(c)).second || divided;
    std::optional<std::uint64_t> before;
    for (int c = 0; c < job_.axis(axis).extent; ++c) {
      if (c == here[static_cast<std::size_t>(axis)]) continue;
      std::vector<int> there = here;
      there[static_cast<std::size_t>(axis)] = c;
      const std::uint64_t now = to(job_.rank_of(there));
      if (before && *before != now) divided = begins(stage, axis).insert(c).second || divided;
      before = now;
    }
  }
  return divided;
}

/// The coordinates of the worker and of the first of its class change places.
int WorkerClasses::as_recorded(int rank, int other) const {
  const std::vector<int> mine = job_.coordinates(rank), first = job_.coordinates(first_of(rank));
  std::vector<int> theirs = job_.coordinates(other);
  for (std::size_t axis = 0; axis < theirs.size(); ++axis) {
    int& c = theirs[axis];
    c = c == mine[axis] ? first[axis] : c == first[axis] ? mine[axis] : c;
  }
  return job_.rank_of(theirs);
}

StandIns WorkerClasses::stand_ins(const std::vector<Recording>& recordings) const {
  std::unordered_map<int, std::size_t> place;
  for (std::size_t i = 0; i < recordings.size(); ++i) place[recordings[i].rank] = i;
  return {[this, place = std::move(place)](int rank) { return place.at(first_of(rank)); },
          [this](int rank, int other) { return as_recorded(rank, other); }};
}

std::string WorkerClasses::difference(const Recording& first, const Recording& other) const {
  const std::string both = concat("rank ", first.rank, " and rank ", other.rank);
  const auto same = [](int peer) { return peer; };
  const auto renamed = [&](int peer) { return as_recorded(other.rank, peer); };
  const std::size_t events = std::min(first.events.size(), other.events.size());
  for (std::size_t e = 0; e < events; ++e) {
    const RecordedEvent& a = first.events[e];
    const RecordedEvent& b = other.events[e];
    const bool alike = a.kind == b.kind && a.strand == b.strand && a.subject == b.subject;
    if (alike && a.kind != RecordedEvent::Kind::post) continue;
    const RecordedRound* of_a = a.kind == RecordedEvent::Kind::post ? &first.rounds[a.subject] : nullptr;
    const RecordedRound* of_b = b.kind == RecordedEvent::Kind::post ? &other.rounds[b.subject] : nullptr;
    if (alike && in_order(first, *of_a, same) == in_order(other, *of_b, renamed)) continue;
    const auto text = [](const Recording& recording, const RecordedRound* round, const RecordedEvent& event) {
      return concat(round != nullptr ? operation_of(recording, *round) : "no message",
                    origin_text(event.origin));
    };
    return concat(both, " were taken to do the same, and differ in event ", e + 1, ":\n  rank ", first.rank,
                  "  ", text(first, of_a, a), "\n  rank ", other.rank, "  ", text(other, of_b, b));
  }
  if (first.events.size() == other.events.size()) return "";
  return concat(both, " were taken to do the same, and one has ", first.events.size(), " events, the other ",
                other.events.size());
}

}  // namespace riesz::app
