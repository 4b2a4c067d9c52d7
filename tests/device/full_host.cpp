// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "full_host.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace riesz::testing {
namespace {

constexpr std::size_t kLarge = 32 << 10;

thread_local bool may_be_full = false;
std::atomic<bool> is_full = false;
std::atomic<bool> has_refused = false;

}  // namespace

FullHost::FullHost() {
  may_be_full = true;
  has_refused = false;
}
FullHost::~FullHost() {
  may_be_full = false;
  is_full = false;
}

void FullHost::fill() { is_full = true; }
bool FullHost::refused() const { return has_refused; }

}  // namespace riesz::testing

void* operator new(std::size_t bytes) {
  using namespace riesz::testing;
  if (may_be_full && is_full && bytes >= kLarge) {
    has_refused = true;
    throw std::bad_alloc();
  }
  if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*bytes*/) noexcept { std::free(memory); }
