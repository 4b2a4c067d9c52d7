// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/waiting.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/verify/held_sends.h"

namespace riesz {
namespace {

using Kind = RecordedEvent::Kind;

struct Event {
  std::size_t recording, number;
};

/// An event that another needs to have happened, and of which worker, as the other's recording names it.
struct Need {
  Event event;
  int rank;
};

/// A strand of a recording on its way.
struct OnItsWay {
  std::vector<std::size_t> events;
  std::size_t next = 0;     // of them
  std::vector<Need> needs;  // of the next event, or of what the last has sent
  std::size_t met = 0;
};

struct Worker {
  const Recording* of = nullptr;
  std::vector<std::size_t> round_of;  // by message
  std::vector<bool> happened;         // by event
  std::vector<std::size_t> begun_by;  // by strand, the event
  std::vector<OnItsWay> strands;
  std::map<std::size_t, std::vector<std::size_t>>
      taken_before;  // by round: others, before its strand goes on
};

Worker worker_of(const Recording& recording, std::int64_t kept) {
  Worker worker;
  worker.of = &recording;
  worker.round_of.resize(recording.messages.size());
  worker.happened.resize(recording.events.size());
  worker.begun_by.resize(recording.strands);
  worker.strands.resize(recording.strands);
  for (std::size_t r = 0; r < recording.rounds.size(); ++r) {
    for (std::size_t m = recording.rounds[r].first; m < recording.rounds[r].last; ++m) worker.round_of[m] = r;
  }
  for (std::size_t e = 0; e < recording.events.size(); ++e) {
    worker.strands[recording.events[e].strand].events.push_back(e);
    if (recording.events[e].kind == Kind::begin) worker.begun_by[recording.events[e].subject] = e;
  }
  worker.taken_before = held_sends(recording, kept);
  return worker;
}

class Course {
 public:
  Course(const std::vector<Recording>& recordings, const StandIns& stand_ins, const Matching& matching,
         std::int64_t kept)
      : stand_ins_(stand_ins), matching_(matching) {
    for (const Recording& recording : recordings) workers_.push_back(worker_of(recording, kept));
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      base_.push_back(i == 0 ? 0 : base_.back() + workers_[i - 1].happened.size());
    }
  }

  Waiting operator()() {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      for (std::size_t s = 0; s < workers_[i].strands.size(); ++s) {
        prepare(i, s);
        ready_.emplace_back(i, s);
      }
    }
    while (!ready_.empty()) {
      const auto [i, s] = ready_.back();
      ready_.pop_back();
      progress(i, s);
    }
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      for (std::size_t s = 0; s < workers_[i].strands.size(); ++s) {
        const OnItsWay& strand = workers_[i].strands[s];
        if (strand.next < strand.events.size()) return {false, circle(i, s)};
      }
    }
    return {true, {}};
  }

 private:
  std::size_t id(const Event& event) const { return base_[event.recording] + event.number; }
  bool happened(const Event& event) const { return workers_[event.recording].happened[event.number]; }

  static bool lets_go(const Worker& worker, const RecordedEvent& event) {
    return event.kind == Kind::post && worker.of->rounds[event.subject].let_go;
  }

  /// The other ends of a round's messages are posted.
  void need_round(std::size_t i, std::size_t round, std::vector<Need>& needs) const {
    const Recording& of = *workers_[i].of;
    for (std::size_t m = of.rounds[round].first; m < of.rounds[round].last; ++m) {
      const MessageId end = matching_.ends[i][m];
      const Worker& other = workers_[end.recording];
      needs.push_back(
          {{end.recording, other.of->rounds[other.round_of[end.message]].posted}, of.messages[m].peer});
    }
  }

  /// What the next event of a strand needs.
  void prepare(std::size_t i, std::size_t s) {
    Worker& worker = workers_[i];
    OnItsWay& strand = worker.strands[s];
    strand.needs.clear();
    strand.met = 0;
    const int rank = worker.of->rank;
    if (strand.next == 0 && s != 0) strand.needs.push_back({{i, worker.begun_by[s]}, rank});
    if (strand.next > 0) need_taken(i, worker.of->events[strand.events[strand.next - 1]], strand.needs);
    if (strand.next == strand.events.size()) return;
    const RecordedEvent& event = worker.of->events[strand.events[strand.next]];
    if (event.kind == Kind::wait) need_round(i, event.subject, strand.needs);
    if (event.kind == Kind::join && !worker.strands[event.subject].events.empty())
      strand.needs.push_back({{i, worker.strands[event.subject].events.back()}, rank});
  }

  /// After sends that nobody waits for: as much of them is taken as must not be kept.
  void need_taken(std::size_t i, const RecordedEvent& before, std::vector<Need>& needs) const {
    const Worker& worker = workers_[i];
    if (!lets_go(worker, before)) return;
    for (const std::size_t round : worker.taken_before.at(before.subject)) need_round(i, round, needs);
  }

  /// As far as a strand comes; then it waits for the first event that it needs.
  void progress(std::size_t i, std::size_t s) {
    OnItsWay& strand = workers_[i].strands[s];
    while (strand.next < strand.events.size()) {
      while (strand.met < strand.needs.size() && happened(strand.needs[strand.met].event)) ++strand.met;
      if (strand.met < strand.needs.size()) {
        waiting_[id(strand.needs[strand.met].event)].emplace_back(i, s);
        return;
      }
      const Event now{i, strand.events[strand.next++]};
      workers_[i].happened[now.number] = true;
      prepare(i, s);
      const auto found = waiting_.find(id(now));
      if (found == waiting_.end()) continue;
      ready_.insert(ready_.end(), found->second.begin(), found->second.end());
      waiting_.erase(found);
    }
  }

  /// Whom the worker `rank` waits for there, as itself.
  struct Link {
    std::size_t recording, strand;
    int rank;
  };

  Link next(const Link& link) const {
    const Need& need = needed(link);
    const Worker& other = workers_[need.event.recording];
    const int rank = need.rank == workers_[link.recording].of->rank
                         ? link.rank
                         : stand_ins_.as_recorded(link.rank, need.rank);
    return {need.event.recording, other.of->events[need.event.number].strand, rank};
  }

  Fault circle(std::size_t first, std::size_t strand) const {
    std::vector<Link> chain{{first, strand, workers_[first].of->rank}};
    const auto seen = [&](const Link& link) {
      return std::find_if(chain.begin(), chain.end(), [&](const Link& each) {
        return each.recording == link.recording && each.strand == link.strand;
      });
    };
    Link link = next(chain.front());
    auto begin = seen(link);
    for (; begin == chain.end(); begin = seen(link)) {
      chain.push_back(link);
      link = next(link);
    }
    Fault fault{"workers wait for each other in a circle", {}};
    for (auto each = begin; each != chain.end(); ++each) {
      const Link& to = each + 1 == chain.end() ? *begin : *(each + 1);
      if (to.rank == each->rank) continue;  // a strand of its own
      const Event wanted = needed(*each).event;
      fault.workers.push_back(
          {{each->rank, each->recording, stands_at(*each)},
           {to.rank, wanted.recording, wanted.number},
           concat("waits in ", doing(*each)),
           concat("for rank ", to.rank, ", which is to begin ", text_of(wanted.recording, wanted.number))});
    }
    return fault;
  }

  std::string text_of(std::size_t recording, std::size_t event) const {
    const Recording& recorded = *workers_[recording].of;
    const RecordedEvent& of = recorded.events[event];
    const bool round = of.kind == Kind::wait || of.kind == Kind::post;
    return concat(round ? operation_of(recorded, recorded.rounds[of.subject]) : "what is under way",
                  origin_text(of.origin));
  }
  const Need& needed(const Link& link) const {
    const OnItsWay& strand = workers_[link.recording].strands[link.strand];
    return strand.needs[strand.met];
  }
  /// Has it sent what it must not keep?
  bool held_back(const Link& link) const {
    const Worker& worker = workers_[link.recording];
    const OnItsWay& strand = worker.strands[link.strand];
    return strand.next > 0 && lets_go(worker, worker.of->events[strand.events[strand.next - 1]]);
  }
  std::size_t stands_at(const Link& link) const {
    const OnItsWay& strand = workers_[link.recording].strands[link.strand];
    return strand.events[held_back(link) ? strand.next - 1 : std::min(strand.next, strand.events.size() - 1)];
  }
  std::string doing(const Link& link) const {
    return text_of(link.recording, stands_at(link)) + (held_back(link) ? ", held back" : "");
  }

  const StandIns& stand_ins_;
  const Matching& matching_;
  std::vector<Worker> workers_;
  std::vector<std::size_t> base_;  // of the numbers of events over all
  std::vector<std::pair<std::size_t, std::size_t>> ready_;
  std::unordered_map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> waiting_;
};

}  // namespace

Waiting follow(const std::vector<Recording>& recordings, const StandIns& stand_ins, const Matching& matching,
               std::int64_t kept) {
  return Course(recordings, stand_ins, matching, kept)();
}

std::int64_t enough_kept(const std::vector<Recording>& recordings, const StandIns& stand_ins,
                         const Matching& matching) {
  std::int64_t largest = 0, all = 0;
  for (const Recording& recording : recordings) {
    for (const RecordedRound& round : recording.rounds) {
      if (!round.let_go) continue;
      largest = std::max(largest, bytes_sent(recording, round));
      all += bytes_sent(recording, round);
    }
  }
  for (std::int64_t kept = 0;; kept = kept == 0 ? largest : 2 * kept) {
    if (follow(recordings, stand_ins, matching, kept).ends) return kept;
    if (kept >= all) return -1;
  }
}

Fault fault_of_waits(const std::vector<Recording>& recordings, const StandIns& stand_ins,
                     const Matching& matching, std::int64_t untaken) {
  const std::int64_t needed = enough_kept(recordings, stand_ins, matching);
  const auto circle = [&](std::int64_t kept) { return follow(recordings, stand_ins, matching, kept).circle; };
  if (needed < 0) return circle(std::int64_t{1} << 60);
  if (untaken == 0 || needed <= untaken) return {};
  Fault held_back = circle(untaken);
  if (held_back.empty()) return {};
  held_back.what +=
      concat(", since none sends more once more than ", untaken,
             " bytes are sent and not taken; set RIESZ_UNTAKEN to ", needed, " on all, 0 for no limit");
  return held_back;
}

}  // namespace riesz
