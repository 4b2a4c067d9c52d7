// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/counters.h"

#include <mutex>

namespace riesz {
namespace {

std::mutex mutex;
std::map<std::string, Traffic> counted;

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

void Counters::add(const std::string& operation, const Traffic& traffic) {
  if (traffic == Traffic{}) return;
  const std::lock_guard lock(mutex);
  counted[operation] += traffic;
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
}

}  // namespace riesz
