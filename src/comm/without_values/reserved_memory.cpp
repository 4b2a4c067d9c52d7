// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/without_values/reserved_memory.h"

#include <c10/core/Allocator.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace riesz {
namespace {

constexpr std::size_t kSmall = std::size_t{1} << 20;

struct Mapping {
  void* first;
  std::size_t bytes;
};

void let_go(void* given) {
  const std::unique_ptr<Mapping> mapping(static_cast<Mapping*>(given));
  munmap(mapping->first, mapping->bytes);
}

void keep(void*) {}

/// Addresses that no process has: where they are touched it ends.
void* beyond_all(std::size_t bytes) {
  constexpr std::size_t kLine = 64;
  static std::atomic<std::uintptr_t> next = std::uintptr_t{1} << 57;
  return reinterpret_cast<void*>(next.fetch_add((bytes + kLine - 1) / kLine * kLine));
}

class ReservedMemory final : public c10::Allocator {
 public:
  explicit ReservedMemory(c10::Allocator* common) : common_(common) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes < kSmall) return common_->allocate(bytes);
    void* first =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (first == MAP_FAILED) {
      first = beyond_all(bytes);
      return {first, first, keep, c10::Device(c10::kCPU)};
    }
    auto mapping = std::make_unique<Mapping>(Mapping{first, bytes});
    return {first, mapping.release(), let_go, c10::Device(c10::kCPU)};
  }

  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

 private:
  c10::Allocator* common_;
};

}  // namespace

c10::Allocator* reserved_memory(c10::Allocator* common) {
  static ReservedMemory memory(common);
  return &memory;
}

}  // namespace riesz
