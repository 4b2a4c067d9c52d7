// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <mutex>
#include <vector>

#include "riesz/testing/pretend_device.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing {
namespace pretend {
namespace {

using Queued = std::map<std::int64_t, std::uint64_t>;

std::mutex reads_mutex;
std::map<std::string, std::int64_t> reads;
std::vector<const Queued*> forbidden;  // of each that forbids, what was queued before

bool before(const Queued& queued, c10::StreamId of, Number number) {
  const auto found = queued.find(of);
  return found != queued.end() && number <= found->second;
}

/// `may`: where that is queued before it is forbidden.
template <typename May>
void count_read(const std::string& name, const May& may) {
  const std::lock_guard lock(reads_mutex);
  const bool allowed = std::all_of(forbidden.begin(), forbidden.end(), may);
  TORCH_CHECK(allowed, name, " waits for ", pretend_device(), " where no host read is allowed");
  ++reads[name];
}

}  // namespace

void host_wait(c10::StreamId of, const std::string& name) {
  count_read(name, [](const Queued*) { return false; });
  stream(of).wait(stream(of).last());
  throw_what_failed();
}

void host_wait(const std::string& name) { host_wait(current_stream(), name); }

void host_wait_for_event(c10::StreamId of, Number number) {
  count_read("Event::synchronize", [&](const Queued* queued) { return before(*queued, of, number); });
  stream(of).wait(number);
  throw_what_failed();
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

NoHostReads::NoHostReads() {
  pretend::each_stream([&](c10::StreamId id, pretend::Stream& each) { queued_[id] = each.last(); });
  const std::lock_guard lock(pretend::reads_mutex);
  pretend::forbidden.push_back(&queued_);
}

NoHostReads::~NoHostReads() {
  const std::lock_guard lock(pretend::reads_mutex);
  std::erase(pretend::forbidden, &queued_);
}

}  // namespace riesz::testing
