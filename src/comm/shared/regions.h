// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/shared/memory.h"

namespace riesz {

/// The table of memory regions that this process shares with others of its host. A message that lies in one
/// is copied directly from there. A region has the same `name` in all processes. Private to src/comm; safe to
/// use from several threads. A region leaves the table when its memory is freed.
class SharedRegions {
 public:
  struct Location {
    std::int64_t name;
    std::int64_t offset;
  };

  /// `readers`: world ranks of the workers that map it too.
  static void add(std::int64_t name, const std::shared_ptr<SharedMemory>& memory, std::vector<int> readers);
  /// The region and offset of `bytes` from `first` on, if `reader` maps that region.
  static std::optional<Location> find(const std::byte* first, std::int64_t bytes, int reader);
  /// The region of that name; nullptr if this process does not map it any more.
  static std::shared_ptr<SharedMemory> named(std::int64_t name);
};

}  // namespace riesz
