// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/memory_meter.h"

#include <c10/core/Allocator.h>

#include <atomic>
#include <cstdlib>

namespace riesz::testing {
namespace {

constexpr std::size_t kHeader = 64;  // keeps what follows as aligned as LibTorch's own blocks

std::atomic<std::int64_t> alive_bytes = 0;
std::atomic<std::int64_t> peak_bytes = 0;
std::atomic<std::int64_t> largest_bytes = 0;

void raise(std::atomic<std::int64_t>& to, std::int64_t value) {
  std::int64_t most = to;
  while (value > most && !to.compare_exchange_weak(most, value)) {
  }
}

void count(std::int64_t bytes) {
  raise(peak_bytes, alive_bytes += bytes);
  raise(largest_bytes, bytes);
}

/// Blocks with their size in front, so that they may outlive the meter.
struct CountingAllocator final : c10::Allocator {
  c10::DataPtr allocate(std::size_t bytes) override {
    auto* block =
        static_cast<std::size_t*>(std::aligned_alloc(kHeader, (bytes + 2 * kHeader - 1) / kHeader * kHeader));
    *block = bytes;
    count(static_cast<std::int64_t>(bytes));
    std::byte* data = reinterpret_cast<std::byte*>(block) + kHeader;
    return {data, data, &release, c10::kCPU};
  }
  /// For kernels that ask for bare memory, such as those of bf16 products.
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void release(void* data) {
    std::byte* block = static_cast<std::byte*>(data) - kHeader;
    count(-static_cast<std::int64_t>(*reinterpret_cast<std::size_t*>(block)));
    std::free(block);
  }
};

CountingAllocator counting;
c10::Allocator* usual = nullptr;

}  // namespace

MemoryMeter::MemoryMeter() {
  usual = c10::GetAllocator(c10::kCPU);
  alive_bytes = 0;
  peak_bytes = 0;
  largest_bytes = 0;
  c10::SetAllocator(c10::kCPU, &counting, 1);
}

MemoryMeter::~MemoryMeter() { c10::SetAllocator(c10::kCPU, usual, 1); }

std::int64_t MemoryMeter::alive() { return alive_bytes; }
std::int64_t MemoryMeter::peak() { return peak_bytes; }
std::int64_t MemoryMeter::largest() { return largest_bytes; }
void MemoryMeter::restart() { peak_bytes = alive_bytes.load(); }

}  // namespace riesz::testing
