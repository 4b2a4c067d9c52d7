// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/counters.h"

#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>

namespace riesz {
namespace {

std::mutex mutex;
std::map<std::string, Traffic> counted;

std::atomic<bool> recorded = false;
std::vector<Record> kept;
std::map<std::tuple<std::string, Phase, std::string>, std::size_t> places;  // in `kept`

void keep(const Origin& origin, const std::string& operation, const Traffic& traffic) {
  const auto [place, fresh] = places.try_emplace({origin.layer, origin.phase, operation}, kept.size());
  if (fresh) kept.push_back({origin, operation, {}});
  kept[place->second].traffic += traffic;
}

void forget() {
  kept.clear();
  places.clear();
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  elements += other.elements;
  bytes += other.bytes;
  messages += other.messages;
  return *this;
}

Traffic operator+(Traffic a, const Traffic& b) { return a += b; }

Traffic operator-(const Traffic& a, const Traffic& b) {
  return {a.elements - b.elements, a.bytes - b.bytes, a.messages - b.messages};
}

Counters& Counters::instance() {
  static Counters counters;
  return counters;
}

void Counters::add(const Operation& operation, const Traffic& traffic) {
  if (traffic == Traffic{}) return;
  const std::lock_guard lock(mutex);
  counted[operation.name] += traffic;
  if (!recorded) return;
  const std::shared_ptr<const Origin> origin = LayerScope::current();
  keep(origin ? *origin : Origin{}, operation.text, traffic);
}

Traffic Counters::total() const {
  const std::lock_guard lock(mutex);
  Traffic sum;
  for (const auto& [operation, traffic] : counted) sum += traffic;
  return sum;
}

std::map<std::string, Traffic> Counters::by_operation() const {
  const std::lock_guard lock(mutex);
  return counted;
}

void Counters::reset() {
  const std::lock_guard lock(mutex);
  counted.clear();
  forget();
}

void Counters::record(bool on) {
  const std::lock_guard lock(mutex);
  recorded = on;
  forget();
}

bool Counters::recording() const { return recorded.load(std::memory_order_relaxed); }

std::vector<Record> Counters::records() const {
  const std::lock_guard lock(mutex);
  return kept;
}

}  // namespace riesz
