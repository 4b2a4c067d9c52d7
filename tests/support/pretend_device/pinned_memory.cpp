// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/pinned_memory.h"

#include "riesz/testing/pretend_device/block_cache.h"

namespace riesz::testing::pretend {
namespace {

/// The host may write it again as soon as it is free, and so does this.
BlockCache& pinned_blocks() {
  static auto* const blocks = new BlockCache(
      [](const Block& block) { fill_with_nan(block.memory, block.bytes); });  // as long as the process
  return *blocks;
}

class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    if (bytes == 0) return {nullptr, at::kCPU};
    Block* const block = pinned_blocks().take(bytes, kNoStream);
    return {block->memory, block, [](void* each) { pinned_blocks().give_back(static_cast<Block*>(each)); },
            at::kCPU};
  }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

}  // namespace

c10::Allocator& pinned_memory() {
  static auto* const memory = new PinnedMemory;  // as long as the process
  return *memory;
}

bool is_pinned_address(const void* address) { return pinned_blocks().find(address) != nullptr; }

void use_pinned(const at::Tensor& pinned) {
  Block* const block = pinned_blocks().find(pinned.storage().data());
  if (block != nullptr) pinned_blocks().use(block, current_stream());
}

}  // namespace riesz::testing::pretend
