// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/verify/shown_events.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace riesz {
namespace {

constexpr std::size_t kBefore = 2, kAfter = 1;

/// The events with messages, and those of the fault.
std::vector<std::size_t> events_to_choose(const Recording& recording, const std::set<std::size_t>& of_fault) {
  std::vector<std::size_t> all;
  for (std::size_t e = 0; e < recording.events.size(); ++e) {
    const RecordedEvent::Kind kind = recording.events[e].kind;
    const bool messages = kind == RecordedEvent::Kind::post || kind == RecordedEvent::Kind::wait;
    if (messages || of_fault.contains(e)) all.push_back(e);
  }
  if (of_fault.contains(recording.events.size())) all.push_back(recording.events.size());
  return all;
}

std::vector<std::size_t> chosen(const Recording& recording, const std::set<std::size_t>& of_fault) {
  const std::vector<std::size_t> all = events_to_choose(recording, of_fault);
  std::vector<bool> shown(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!of_fault.contains(all[i])) continue;
    const std::size_t last = std::min(i + kAfter, all.size() - 1);
    for (std::size_t k = i - std::min(i, kBefore); k <= last; ++k) shown[k] = true;
  }
  std::vector<std::size_t> events;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (shown[i]) events.push_back(all[i]);
    if (!shown[i] && (i == 0 || shown[i - 1])) events.push_back(ShownEvents::kSkipped);
  }
  return events;
}

std::size_t characters_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string cut(std::string word, std::size_t characters) {
  if (characters_of(word) <= characters) return word;
  while (characters_of(word) >= characters) word.pop_back();
  return word + "…";
}

}  // namespace

std::vector<ShownEvents> shown_events(const Fault& fault, const std::vector<Recording>& recordings,
                                      std::size_t most) {
  std::vector<ShownEvents> all;
  for (const WorkerInFault& worker : fault.workers) {
    const auto of_it = [&](const ShownEvents& each) { return each.rank == worker.at.rank; };
    if (all.size() == most || std::any_of(all.begin(), all.end(), of_it)) continue;
    std::set<std::size_t> of_fault;
    for (const WorkerInFault& each : fault.workers) {
      if (each.at.rank == worker.at.rank) of_fault.insert(each.at.event);
      if (each.other.rank == worker.at.rank) of_fault.insert(each.other.event);
    }
    all.push_back({worker.at.rank, worker.at.recording, worker.at.event,
                   chosen(recordings[worker.at.recording], of_fault)});
  }
  return all;
}

std::vector<std::string> lines_of(const std::string& text, std::size_t characters) {
  std::vector<std::string> lines;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    word = cut(word, characters);
    if (lines.empty() || characters_of(lines.back()) + 1 + characters_of(word) > characters) {
      lines.push_back(word);
    } else {
      lines.back() += " " + word;
    }
  }
  return lines;
}

}  // namespace riesz
