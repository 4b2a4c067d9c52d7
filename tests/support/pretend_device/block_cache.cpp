// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/testing/pretend_device/block_cache.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace riesz::testing::pretend {
namespace {

constexpr std::size_t kAligned = 512;
constexpr std::uint16_t kNan = 0x7FFF;

}  // namespace

void fill_with_nan(std::byte* memory, std::size_t bytes) {
  auto* const words = reinterpret_cast<std::uint16_t*>(memory);
  std::fill_n(words, bytes / sizeof kNan, kNan);
}

Block* BlockCache::take(std::size_t bytes, c10::StreamId stream) {
  const std::size_t rounded = (bytes + kAligned - 1) / kAligned * kAligned;
  const std::lock_guard lock(mutex_);
  take_up_finished();
  std::vector<Block*>& free = free_[{rounded, stream}];
  Block* block = nullptr;
  if (!free.empty()) {
    block = free.back();  // the last that was given back
    free.pop_back();
  } else {
    block = made(rounded, stream);
  }
  taken_.emplace(block->memory, block);
  taken_bytes_ += static_cast<std::int64_t>(rounded);
  most_taken_bytes_ = std::max(most_taken_bytes_, taken_bytes_);
  return block;
}

Block* BlockCache::made(std::size_t bytes, c10::StreamId stream) {
  const auto more = static_cast<std::int64_t>(bytes);
  const auto too_many = [&] { return limit_ > 0 && held_bytes_ + more > limit_; };
  if (too_many()) {
    each_stream([](c10::StreamId, Stream& each) { each.wait(each.last()); });
    take_up_finished();
    each_stream([](c10::StreamId, Stream& each) { each.wait(each.last()); });
    empty_free();
  }
  TORCH_CHECK_WITH(OutOfMemoryError, !too_many(), "pretend:0 is out of memory. Tried to allocate ", bytes,
                   " bytes. It has ", limit_, ", of which ", std::max<std::int64_t>(0, limit_ - held_bytes_),
                   " are free.");
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAligned, bytes));
  fill_with_nan(memory, bytes);
  held_bytes_ += more;
  return new Block{memory, bytes, stream};
}

void BlockCache::give_back(Block* block) {
  const std::lock_guard lock(mutex_);
  taken_.erase(block->memory);
  taken_bytes_ -= static_cast<std::int64_t>(block->bytes);
  if (block->users.empty()) return make_free(block);
  Waiting waiting{block, {}};
  for (const c10::StreamId user : block->users) waiting.until.emplace_back(user, stream(user).last());
  block->users.clear();
  waiting_.push_back(std::move(waiting));
}

void BlockCache::use(Block* block, c10::StreamId user) {
  const std::lock_guard lock(mutex_);
  if (user != block->stream) block->users.insert(user);
}

void BlockCache::take_up_finished() {
  const auto finished = [](const Waiting& each) {
    return std::all_of(each.until.begin(), each.until.end(),
                       [](const auto& until) { return stream(until.first).done(until.second); });
  };
  const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(),
                                          [&](const Waiting& each) { return !finished(each); });
  for (auto each = rest; each != waiting_.end(); ++each) make_free(each->block);
  waiting_.erase(rest, waiting_.end());
}

void BlockCache::make_free(Block* block) {
  poison_(*block);
  free_[{block->bytes, block->stream}].push_back(block);
}

Block* BlockCache::find(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* const byte = static_cast<const std::byte*>(address);
  const auto after = taken_.upper_bound(byte);
  if (after == taken_.begin()) return nullptr;
  Block* const block = std::prev(after)->second;
  return byte < block->memory + block->bytes ? block : nullptr;
}

void BlockCache::empty() {
  const std::lock_guard lock(mutex_);
  empty_free();
}

void BlockCache::empty_free() {
  for (auto& [kind, blocks] : free_) {
    for (Block* block : blocks) {
      held_bytes_ -= static_cast<std::int64_t>(block->bytes);
      std::free(block->memory);
      delete block;
    }
  }
  free_.clear();
}

std::int64_t BlockCache::taken_bytes() const {
  const std::lock_guard lock(mutex_);
  return taken_bytes_;
}

std::int64_t BlockCache::most_taken_bytes() const {
  const std::lock_guard lock(mutex_);
  return most_taken_bytes_;
}

void BlockCache::reset_most() {
  const std::lock_guard lock(mutex_);
  most_taken_bytes_ = taken_bytes_;
}

std::int64_t BlockCache::limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  return std::exchange(limit_, bytes);
}

std::pair<std::int64_t, std::int64_t> BlockCache::held_and_limit() const {
  const std::lock_guard lock(mutex_);
  return {held_bytes_, limit_};
}

}  // namespace riesz::testing::pretend
