// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <mutex>
#include <vector>

#include "riesz/testing/pretend_device.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing {
namespace pretend {
namespace {

using Watch = HostReadsHere::State;

std::mutex reads_mutex;
std::map<std::string, std::int64_t> reads;
std::vector<Watch*> watches;

bool before(const Watch& watch, c10::StreamId of, Number number) {
  const auto found = watch.queued.find(of);
  return found != watch.queued.end() && number <= found->second;
}

/// `may`: as a watch sees it.
template <typename May>
void count_read(const std::string& name, const May& may) {
  const std::lock_guard lock(reads_mutex);
  for (Watch* watch : watches) {
    if (may(*watch)) continue;
    TORCH_CHECK(!watch->throws, name, " waits for ", pretend_device(), " where no host read is allowed");
    ++watch->seen[name];
  }
  ++reads[name];
}

}  // namespace

void host_wait(c10::StreamId of, const std::string& name) {
  count_read(name, [](const Watch&) { return false; });
  stream(of).wait(stream(of).last());
  throw_what_failed();
}

void host_wait(const std::string& name) { host_wait(current_stream(), name); }

void host_wait_for_event(c10::StreamId of, Number number) {
  count_read("Event::synchronize", [&](const Watch& watch) { return before(watch, of, number); });
  stream(of).wait(number);
  throw_what_failed();
}

void found_unfinished(c10::StreamId of, Number number) {
  const std::lock_guard lock(reads_mutex);
  for (Watch* watch : watches)
    if (!before(*watch, of, number)) watch->polled.emplace(of, number);
}

}  // namespace pretend

std::map<std::string, std::int64_t> host_reads() {
  const std::lock_guard lock(pretend::reads_mutex);
  return pretend::reads;
}

void reset_host_reads() {
  const std::lock_guard lock(pretend::reads_mutex);
  pretend::reads.clear();
}

HostReadsHere::HostReadsHere(bool throws) : state_{{}, throws} {
  pretend::each_stream([&](c10::StreamId id, pretend::Stream& each) { state_.queued[id] = each.last(); });
  const std::lock_guard lock(pretend::reads_mutex);
  pretend::watches.push_back(&state_);
}

HostReadsHere::~HostReadsHere() {
  const std::lock_guard lock(pretend::reads_mutex);
  std::erase(pretend::watches, &state_);
}

std::map<std::string, std::int64_t> HostReadsHere::seen() const {
  const std::lock_guard lock(pretend::reads_mutex);
  return state_.seen;
}

std::int64_t HostReadsHere::polled() const {
  const std::lock_guard lock(pretend::reads_mutex);
  return static_cast<std::int64_t>(state_.polled.size());
}

}  // namespace riesz::testing
