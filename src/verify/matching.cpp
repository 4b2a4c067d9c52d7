// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/matching.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/verify/alike.h"

namespace riesz {
namespace {

/// The messages of a recording with one peer, each way by channel and number.
struct Conversation {
  std::vector<std::size_t> sends, receives;
};

struct Indexed {
  const Recording& of;
  std::vector<std::size_t> posted;  // by message, its event
  std::unordered_map<int, Conversation> with;

  const RecordedMessage& operator[](std::size_t message) const { return of.messages[message]; }
};

Indexed indexed(const Recording& recording) {
  Indexed index{recording, std::vector<std::size_t>(recording.messages.size()), {}};
  for (const RecordedRound& round : recording.rounds)
    std::fill_n(index.posted.begin() + static_cast<std::ptrdiff_t>(round.first), round.last - round.first,
                round.posted);
  for (std::size_t i = 0; i < recording.messages.size(); ++i) {
    Conversation& with = index.with[recording.messages[i].peer];
    (recording.messages[i].sent ? with.sends : with.receives).push_back(i);
  }
  const auto by_key = [&](std::size_t a, std::size_t b) {
    const auto key = [&](const RecordedMessage& each) { return std::pair(each.channel, each.number); };
    return key(index[a]) < key(index[b]);
  };
  for (auto& [peer, both] : index.with) {
    std::sort(both.sends.begin(), both.sends.end(), by_key);
    std::sort(both.receives.begin(), both.receives.end(), by_key);
  }
  return index;
}

/// One way between two workers, as the two ends say.
class Way {
 public:
  Way(const Indexed& from, const std::vector<std::size_t>& sends, const Indexed& to,
      const std::vector<std::size_t>& receives, int sender, int receiver)
      : from_(from), to_(to), sends_(sends), receives_(receives), sender_(sender), receiver_(receiver) {}

  std::pair<int, int> workers() const { return {sender_, receiver_}; }

  /// The first message at which the two differ; both sizes: none.
  std::size_t difference() const {
    std::size_t i = 0;
    while (i < sends_.size() && i < receives_.size() && same(i, i)) ++i;
    return i == sends_.size() && i == receives_.size() ? kNone : i;
  }

  /// When it happens, so that the first is known.
  std::size_t when(std::size_t i) const {
    return std::min(i < sends_.size() ? from_.posted[sends_[i]] : kNone,
                    i < receives_.size() ? to_.posted[receives_[i]] : kNone);
  }

  /// Between the recordings of these numbers.
  Fault fault(std::size_t i, std::size_t from, std::size_t to) const {
    const EventId sends{sender_, from, event(from_, sends_, i)};
    const EventId expects{receiver_, to, event(to_, receives_, i)};
    return {headline(i),
            {{sends, expects, "sends", end(from_, sends_, i)},
             {expects, sends, "expects", end(to_, receives_, i)}}};
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

 private:
  bool both(std::size_t i, std::size_t j) const { return i < sends_.size() && j < receives_.size(); }
  bool of_one_move(std::size_t i) const {
    const RecordedMessage& sent = from_[sends_[i]];
    const RecordedMessage& expected = to_[receives_[i]];
    return sent.label->digest() == expected.label->digest() && same_key(sent, expected) &&
           !alike(sent, expected);
  }
  bool same(std::size_t i, std::size_t j) const {
    return both(i, j) && alike(from_[sends_[i]], to_[receives_[j]]) &&
           (i != j || same_key(from_[sends_[i]], to_[receives_[j]]));
  }

  static std::size_t event(const Indexed& index, const std::vector<std::size_t>& all, std::size_t i) {
    return i < all.size() ? index.posted[all[i]] : index.of.events.size();
  }

  std::string headline(std::size_t i) const {
    if (both(i, i) && of_one_move(i)) {
      const bool sizes = from_[sends_[i]].elements != to_[receives_[i]].elements;
      return concat("rank ", sender_, " sends a message of another ", sizes ? "size" : "type", " than rank ",
                    receiver_, " expects");
    }
    if (same(i, i + 1) && same(i + 1, i))
      return concat("rank ", sender_, " and rank ", receiver_, " have two moves in another order");
    if (i >= sends_.size() || same(i, i + 1))
      return concat("rank ", sender_, " leaves out a message that rank ", receiver_, " expects");
    if (i >= receives_.size() || same(i + 1, i))
      return concat("rank ", receiver_, " leaves out a message that rank ", sender_, " sends");
    return concat("rank ", sender_, " and rank ", receiver_, " are in different moves");
  }

  std::string end(const Indexed& index, const std::vector<std::size_t>& all, std::size_t i) const {
    if (i >= all.size()) return "nothing more";
    const RecordedMessage& message = index[all[i]];
    const RecordedEvent& event = index.of.events[index.posted[all[i]]];
    return concat(message.elements, " elements of ", message.type, " in ", message.label->text(),
                  origin_text(event.origin), " (message ", i + 1, " of this way)");
  }

  const Indexed& from_;
  const Indexed& to_;
  const std::vector<std::size_t>& sends_;
  const std::vector<std::size_t>& receives_;
  int sender_, receiver_;
};

class Matcher {
 public:
  Matcher(const std::vector<Recording>& recordings, const StandIns& stand_ins) : stand_ins_(stand_ins) {
    for (const Recording& recording : recordings) {
      index_.push_back(indexed(recording));
      matching_.ends.emplace_back(recording.messages.size());
    }
  }

  Matching operator()() {
    for (std::size_t i = 0; i < index_.size(); ++i) {
      for (const auto& [peer, mine] : index_[i].with) compare(i, peer, mine);
    }
    std::sort(faults_.begin(), faults_.end(), [](const auto& a, const auto& b) {
      return std::tie(a.first, a.second.what) < std::tie(b.first, b.second.what);
    });
    for (auto& [when, fault] : faults_) matching_.faults.push_back(std::move(fault));
    return std::move(matching_);
  }

 private:
  void compare(std::size_t i, int peer, const Conversation& mine) {
    const Conversation nothing;
    const int rank = index_[i].of.rank;
    const std::size_t j = stand_ins_.recording(peer);
    const auto found = index_[j].with.find(stand_ins_.as_recorded(peer, rank));
    const Conversation& theirs = found == index_[j].with.end() ? nothing : found->second;
    check(Way(index_[i], mine.sends, index_[j], theirs.receives, rank, peer), i, j);
    check(Way(index_[j], theirs.sends, index_[i], mine.receives, peer, rank), j, i);
    pair(i, mine.sends, j, theirs.receives);
    pair(i, mine.receives, j, theirs.sends);
    matching_.messages += static_cast<std::int64_t>(mine.sends.size());
  }

  void check(const Way& way, std::size_t from, std::size_t to) {
    const std::size_t at = way.difference();
    if (at != Way::kNone && seen_.insert(way.workers()).second)
      faults_.emplace_back(way.when(at), way.fault(at, from, to));
  }

  void pair(std::size_t i, const std::vector<std::size_t>& mine, std::size_t j,
            const std::vector<std::size_t>& theirs) {
    for (std::size_t k = 0; k < std::min(mine.size(), theirs.size()); ++k)
      matching_.ends[i][mine[k]] = {j, theirs[k]};
  }

  const StandIns& stand_ins_;
  std::vector<Indexed> index_;
  Matching matching_;
  std::vector<std::pair<std::size_t, Fault>> faults_;  // with when they happen
  std::set<std::pair<int, int>> seen_;                 // sender and receiver
};

}  // namespace

StandIns each_its_own() {
  return {[](int rank) { return static_cast<std::size_t>(rank); }, [](int, int other) { return other; }};
}

Matching match(const std::vector<Recording>& recordings, const StandIns& stand_ins) {
  return Matcher(recordings, stand_ins)();
}

}  // namespace riesz
