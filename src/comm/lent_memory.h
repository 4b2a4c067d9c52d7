// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "riesz/comm/shared_memory.h"

namespace riesz {

/// The shared memories that this process maps, its own and its neighbours', so that a message which lies in
/// one is copied from where it is. A neighbour's has the same `name` there as here. Private to this room;
/// callable from several threads. A memory is forgotten when it goes.
class LentMemory {
 public:
  struct Place {
    std::int64_t name;
    std::int64_t offset;
  };

  /// `readers`: world ranks of those who map it too.
  static void add(std::int64_t name, const std::shared_ptr<SharedMemory>& memory, std::vector<int> readers);
  /// Where `bytes` from `first` on lie for `reader`, if they lie in a memory that it maps.
  static std::optional<Place> find(const std::byte* first, std::int64_t bytes, int reader);
  /// The memory of that name, while this process maps it; else nullptr.
  static std::shared_ptr<SharedMemory> named(std::int64_t name);
};

}  // namespace riesz
