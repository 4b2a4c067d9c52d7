// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/app/memory/counted_memory.h"

#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <utility>

#include "riesz/comm/error.h"

namespace riesz::app {
namespace {

std::atomic<std::int64_t> alive = 0, most = 0;

void change_alive(std::int64_t bytes) {
  const std::int64_t now = alive += bytes;
  std::int64_t before = most;
  while (now > before && !most.compare_exchange_weak(before, now)) {
  }
}

struct Held {
  c10::DataPtr memory;
  std::int64_t bytes;
};

void let_go(void* given) {
  const std::unique_ptr<Held> held(static_cast<Held*>(given));
  change_alive(-held->bytes);
}

class Counting final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr memory = below->allocate(bytes);
    void* const data = memory.get();
    const c10::Device device = memory.device();
    auto held = std::make_unique<Held>(Held{std::move(memory), static_cast<std::int64_t>(bytes)});
    change_alive(held->bytes);
    return {data, held.release(), let_go, device};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }

  c10::Allocator* below = nullptr;
};

Counting& counting() {
  static Counting all;
  return all;
}

}  // namespace

CountedMemory::CountedMemory() : before_(c10::GetCPUAllocator()) {
  alive = most = 0;
  counting().below = before_;
  c10::SetCPUAllocator(&counting());
  RIESZ_CHECK(c10::GetCPUAllocator() == &counting(),
              "memory cannot be counted: another allocator of CPU tensors has a higher priority");
}

CountedMemory::~CountedMemory() { c10::SetCPUAllocator(before_); }

std::int64_t CountedMemory::peak() { return most; }

}  // namespace riesz::app
