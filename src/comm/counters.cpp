// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/counters.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <tuple>
#include <utility>

#include "riesz/comm/spin_lock.h"
#include "riesz/comm/trace/range.h"

namespace riesz {
namespace {

std::mutex guard;
Untaken untaken_bytes;

std::atomic<bool> recorded = false;
std::vector<TrafficRecord> kept;
std::map<std::tuple<std::string, Phase, std::string>, std::size_t> places;  // in `kept`

void keep_record(const Operation& of, const Traffic& traffic) {
  const std::shared_ptr<const Origin> current = LayerScope::current();
  const Origin origin = current ? *current : Origin{};
  const std::string& operation = of.text;
  const auto [place, fresh] = places.try_emplace({origin.layer, origin.phase, operation}, kept.size());
  if (fresh) kept.push_back({origin, operation, {}});
  kept[place->second].traffic += traffic;
}

void forget() {
  kept.clear();
  places.clear();
}

}  // namespace

struct NameCounter {
  void add(const Traffic& traffic) {
    const std::lock_guard lock(mutex);
    sum += traffic;
  }
  void reset() {
    const std::lock_guard lock(mutex);
    sum = {};
  }
  Traffic traffic() const {
    const std::lock_guard lock(mutex);
    return sum;
  }

 private:
  mutable SpinLock mutex;
  Traffic sum;
};

namespace {

/// They live longer than whatever static object counts.
std::map<std::string, NameCounter>& name_counters() {
  static auto* const all = new std::map<std::string, NameCounter>();
  return *all;
}

}  // namespace

NameCounter& counter_of(const std::string& name) {
  const std::lock_guard lock(guard);
  return name_counters()[name];
}

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
  operation.counter->add(traffic);
  if (RangeSink* sink = range_sink()) sink->sent(operation, traffic);
  if (!recording()) return;
  const std::lock_guard lock(guard);
  if (recorded) keep_record(operation, traffic);
}

void Counters::begin(const Operation& operation) {
  const std::lock_guard lock(guard);
  if (recorded) keep_record(operation, {});
}

void Counters::add_untaken(std::int64_t bytes) {
  const std::lock_guard lock(guard);
  untaken_bytes.bytes += bytes;
  untaken_bytes.most_bytes = std::max(untaken_bytes.most_bytes, untaken_bytes.bytes);
}

Untaken Counters::untaken() const {
  const std::lock_guard lock(guard);
  return untaken_bytes;
}

Traffic Counters::total() const {
  const std::lock_guard lock(guard);
  Traffic sum;
  for (const auto& [name, counter] : name_counters()) sum += counter.traffic();
  return sum;
}

std::map<std::string, Traffic> Counters::by_operation() const {
  const std::lock_guard lock(guard);
  std::map<std::string, Traffic> counted;
  for (const auto& [name, counter] : name_counters()) {
    if (counter.traffic() != Traffic{}) counted.emplace(name, counter.traffic());
  }
  return counted;
}

void Counters::reset() {
  const std::lock_guard lock(guard);
  for (auto& [name, counter] : name_counters()) counter.reset();
  untaken_bytes.most_bytes = untaken_bytes.bytes;
  forget();
}

void Counters::record(bool on) {
  const std::lock_guard lock(guard);
  recorded = on;
  forget();
}

bool Counters::recording() const { return recorded.load(std::memory_order_relaxed); }

std::vector<TrafficRecord> Counters::records() const {
  const std::lock_guard lock(guard);
  return kept;
}

}  // namespace riesz
