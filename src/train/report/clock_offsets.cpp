// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/train/report/clock_offsets.h"

#include <chrono>
#include <fstream>
#include <limits>
#include <map>

#include "riesz/partition/agreement/alike.h"
#include "riesz/train/report/text_message.h"

namespace riesz {
namespace {

constexpr int kAnswers = 16;

std::int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// On rank 0.
std::int64_t measured_offset(const Partition& partition, int rank) {
  std::int64_t quickest = std::numeric_limits<std::int64_t>::max(), offset = 0;
  for (int i = 0; i < kAnswers; ++i) {
    const std::int64_t asked = nanoseconds_now();
    send_text(partition, rank, "?");
    const std::int64_t there = std::stoll(receive_text(partition, rank));
    const std::int64_t took = nanoseconds_now() - asked;
    if (took < quickest) quickest = took, offset = there - (asked + took / 2);
  }
  return offset;
}

void answer(const Partition& partition) {
  for (int i = 0; i < kAnswers; ++i) {
    receive_text(partition, 0);
    send_text(partition, 0, std::to_string(nanoseconds_now()));
  }
}

}  // namespace

std::string clock_identity() {
  std::string id = "host";
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::vector<std::int64_t> clock_offsets(const Partition& partition, const std::string& identity) {
  const std::vector<std::string> identities = collect_texts(partition, identity);
  const int me = partition.rank();
  std::map<std::string, std::int64_t> offset_of{{identities.front(), 0}};
  std::vector<std::int64_t> offsets;
  for (int rank = 0; rank < partition.size(); ++rank) {
    const auto [clock, fresh] = offset_of.try_emplace(identities[static_cast<std::size_t>(rank)], 0);
    if (fresh && me == 0) clock->second = measured_offset(partition, rank);
    if (fresh && me == rank) answer(partition);
    if (me == 0) offsets.push_back(clock->second);
  }
  return offsets;
}

}  // namespace riesz
