// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>

#include "riesz/testing/pretend_device.h"

namespace riesz::testing {

/// While it lives, the pretend device has no memory but what is taken.
class FullMemory {
 public:
  FullMemory() : before_(limit_pretend_memory(0)) {
    c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(pretend_device().type());
    allocator.emptyCache();
    limit_pretend_memory(allocator.getDeviceStats(0).reserved_bytes[0].current);
  }
  ~FullMemory() { limit_pretend_memory(before_); }
  FullMemory(const FullMemory&) = delete;
  FullMemory& operator=(const FullMemory&) = delete;

 private:
  std::int64_t before_;
};

}  // namespace riesz::testing
