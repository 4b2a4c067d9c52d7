// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include <atomic>
#include <mutex>

#include "riesz/testing/pretend_device.h"
#include "riesz/testing/pretend_device/stream.h"

namespace riesz::testing {
namespace pretend {
namespace {

std::mutex reads_mutex;
std::map<std::string, std::int64_t> reads;
std::atomic<int> forbidden = 0;

void count_read(const std::string& name) {
  TORCH_CHECK(forbidden == 0, name, " waits for ", pretend_device(), " where no host read is allowed");
  const std::lock_guard lock(reads_mutex);
  ++reads[name];
}

}  // namespace

void host_wait(Stream& stream, Number number, const std::string& name) {
  count_read(name);
  stream.wait(number);
  throw_what_failed();
}

void host_wait(const std::string& name) {
  Stream& here = stream(current_stream());
  host_wait(here, here.last(), name);
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

NoHostReads::NoHostReads() { ++pretend::forbidden; }
NoHostReads::~NoHostReads() { --pretend::forbidden; }

}  // namespace riesz::testing
