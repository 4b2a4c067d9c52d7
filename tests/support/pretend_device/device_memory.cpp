// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/device_memory.h"

#include <cstdint>
#include <cstring>

#include "riesz/testing/pretend_device/block_cache.h"

namespace riesz::testing {
namespace pretend {
namespace {

/// The device's address of a byte is so far from the host's. No process has memory there: bit 55 is beyond
/// the addresses that systems give, and not among those that a processor may ignore.
constexpr std::uintptr_t kApart = std::uintptr_t{1} << 55;

/// In the order of the block's stream.
BlockCache& device_blocks() {
  static auto* const blocks = new BlockCache([](const Block& block) {  // as long as the process
    stream(block.stream).add([memory = block.memory, bytes = block.bytes] { fill_with_nan(memory, bytes); });
  });
  return *blocks;
}

void give_back_device_block(void* block) { device_blocks().give_back(static_cast<Block*>(block)); }

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, pretend_device()};
    Block* const block = device_blocks().take(bytes, current_stream());
    return {on_device(block->memory), block, give_back_device_block, pretend_device()};
  }

  /// As a GPU's: what is not of this allocator is not its concern.
  void recordStream(const c10::DataPtr& memory, c10::Stream user) override {
    if (memory.get_deleter() == give_back_device_block)
      device_blocks().use(static_cast<Block*>(memory.get_context()), user.id());
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    if (bytes == 0) return;
    stream(current_stream()).add([to = on_host(to), from = on_host(from), bytes] {
      std::memcpy(to, from, bytes);
    });
  }

  bool initialized() override { return true; }

  void emptyCache(c10::MempoolId_t) override {
    finish_pretend_work();
    device_blocks().empty();
  }

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    stats.allocated_bytes[0].current = device_blocks().taken_bytes();
    stats.allocated_bytes[0].peak = device_blocks().most_taken_bytes();
    stats.reserved_bytes[0].current = device_blocks().held_and_limit().first;
    return stats;
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override { device_blocks().reset_most(); }

  /// What is free, and all.
  std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
    const auto [held, limit] = device_blocks().held_and_limit();
    const std::int64_t all = limit > 0 ? limit : std::int64_t{1} << 40;
    return {static_cast<std::size_t>(all - held), static_cast<std::size_t>(all)};
  }
};

}  // namespace

void* on_device(const void* host) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(host) + kApart);
}

std::byte* on_host(const void* device) {
  if (device == nullptr) return nullptr;
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(device) - kApart);
}

c10::DeviceAllocator& device_memory() {
  static auto* const memory = new DeviceMemory;  // as long as the process
  return *memory;
}

}  // namespace pretend

std::int64_t limit_pretend_memory(std::int64_t bytes) { return pretend::device_blocks().limit(bytes); }

}  // namespace riesz::testing
