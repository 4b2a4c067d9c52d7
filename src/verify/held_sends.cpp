// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/held_sends.h"

#include <algorithm>

namespace riesz {
namespace {

class Sends {
 public:
  Sends(const Recording& recording, std::int64_t kept)
      : of_(recording),
        kept_(kept),
        threads_(recording.threads.size()),
        taken_(recording.strands),
        known_(recording.strands * threads_),
        sent_by_(threads_) {}

  std::map<std::size_t, std::vector<std::size_t>> operator()() {
    for (const RecordedEvent& event : of_.events) {
      if (lets_go(event)) send(event.strand, event.subject);
      if (event.kind == RecordedEvent::Kind::begin) begin(event.strand, event.subject);
      if (event.kind == RecordedEvent::Kind::join) join(event.strand, event.subject);
    }
    std::map<std::size_t, std::vector<std::size_t>> all;
    std::size_t place = 0;
    for (const RecordedEvent& event : of_.events) {
      if (lets_go(event)) all[event.subject] = needs(place++);
      if (event.kind == RecordedEvent::Kind::begin) taken_[event.subject] = taken_[event.strand];
    }
    return all;
  }

 private:
  struct Send {
    std::size_t round, strand;
    std::int64_t bytes_before;           // of all recorded before
    std::vector<std::size_t> meanwhile;  // places of sends recorded later that may come before
  };

  bool lets_go(const RecordedEvent& event) const {
    return event.kind == RecordedEvent::Kind::post && of_.rounds[event.subject].let_go;
  }
  std::int64_t bytes(std::size_t round) const { return bytes_sent(of_, of_.rounds[round]); }

  /// How many sends of a thread are known to be over for a strand.
  std::size_t& known(std::size_t strand, std::size_t thread) { return known_[strand * threads_ + thread]; }

  void send(std::size_t strand, std::size_t round) {
    const std::size_t place = sends_.size();
    const std::int64_t before = sends_.empty() ? 0 : sends_.back().bytes_before + bytes(sends_.back().round);
    sends_.push_back({round, strand, before, {}});
    for (std::size_t thread = 0; thread < threads_; ++thread) {
      std::vector<std::size_t>& of_thread = sent_by_[thread];
      if (of_.threads[thread] == strand) {
        of_thread.push_back(place);
        known(strand, thread) = of_thread.size();
      } else {
        for (std::size_t k = known(strand, thread); k < of_thread.size(); ++k)
          sends_[of_thread[k]].meanwhile.push_back(place);
      }
    }
  }

  void begin(std::size_t from, std::size_t strand) {
    for (std::size_t thread = 0; thread < threads_; ++thread) known(strand, thread) = known(from, thread);
  }

  void join(std::size_t strand, std::size_t ended) {
    for (std::size_t thread = 0; thread < threads_; ++thread)
      known(strand, thread) = std::max(known(strand, thread), known(ended, thread));
  }

  std::vector<std::size_t> needs(std::size_t own) {
    const Send& send = sends_[own];
    std::int64_t left = send.bytes_before + bytes(send.round);
    for (const std::size_t other : send.meanwhile) left += bytes(sends_[other].round);
    std::vector<std::size_t> rounds;
    std::size_t& taken = taken_[send.strand];
    left -= sends_[taken].bytes_before;
    while (left > kept_ && taken <= own) {
      left -= bytes(sends_[taken].round);
      rounds.push_back(sends_[taken++].round);
    }
    for (std::size_t i = 0; left > kept_ && i < send.meanwhile.size(); ++i) {
      left -= bytes(sends_[send.meanwhile[i]].round);
      rounds.push_back(sends_[send.meanwhile[i]].round);
    }
    return rounds;
  }

  const Recording& of_;
  std::int64_t kept_;
  std::size_t threads_;
  std::vector<Send> sends_;                        // as recorded
  std::vector<std::size_t> taken_;                 // by strand: so many of them are taken before it goes on
  std::vector<std::size_t> known_;                 // by strand and thread
  std::vector<std::vector<std::size_t>> sent_by_;  // by thread: places in `sends_`
};

}  // namespace

std::int64_t bytes_sent(const Recording& recording, const RecordedRound& round) {
  std::int64_t bytes = 0;
  for (std::size_t m = round.first; m < round.last; ++m)
    bytes += recording.messages[m].sent ? recording.messages[m].bytes() : 0;
  return bytes;
}

std::map<std::size_t, std::vector<std::size_t>> held_sends(const Recording& recording, std::int64_t kept) {
  return Sends(recording, kept)();
}

}  // namespace riesz
