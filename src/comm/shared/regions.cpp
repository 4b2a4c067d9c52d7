// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared/regions.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace riesz {
namespace {

struct Entry {
  std::weak_ptr<SharedMemory> memory;
  const std::byte* first;
  std::size_t bytes;
  std::vector<int> readers;
};

std::mutex regions_mutex;

std::map<std::int64_t, Entry>& entries() {
  static std::map<std::int64_t, Entry> all;
  return all;
}

}  // namespace

void SharedRegions::add(std::int64_t name, const std::shared_ptr<SharedMemory>& memory,
                        std::vector<int> readers) {
  const std::lock_guard lock(regions_mutex);
  std::erase_if(entries(), [](const auto& entry) { return entry.second.memory.expired(); });
  entries().insert_or_assign(name, Entry{memory, memory->data(), memory->bytes(), std::move(readers)});
}

std::optional<SharedRegions::Location> SharedRegions::find(const std::byte* first, std::int64_t bytes,
                                                        int reader) {
  const std::lock_guard lock(regions_mutex);
  for (const auto& [name, entry] : entries()) {
    const bool inside = entry.first <= first && first + bytes <= entry.first + entry.bytes;
    if (!inside || entry.memory.expired()) continue;
    if (std::find(entry.readers.begin(), entry.readers.end(), reader) != entry.readers.end())
      return Location{name, first - entry.first};
  }
  return std::nullopt;
}

std::shared_ptr<SharedMemory> SharedRegions::named(std::int64_t name) {
  const std::lock_guard lock(regions_mutex);
  const auto found = entries().find(name);
  return found == entries().end() ? nullptr : found->second.memory.lock();
}

}  // namespace riesz
