// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared/ring.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "riesz/comm/sum/kernels.h"

namespace riesz {

namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kFetched = 16 * kLine;  // at once: as many as a core can wait for
constexpr std::size_t kAwaited = 2 * kLine;   // a fragment's head, and the first bytes behind it
constexpr std::size_t kLook = SharedRing::kFirst / 8;
/// A writer that finds no room, also none for the largest fragment at the ring's start, has left more unread.
constexpr std::size_t kCrowded = SharedRing::kBytes / 8;

}  // namespace

Fragment Fragment::head(Kind kind, MatchKey key, const Signature& signature, std::int64_t number) {
  Fragment fragment{.kind = kind, .key = key, .message = number, .bytes = signature.bytes};
  fragment.type = static_cast<std::int16_t>(signature.type);
  fragment.text = static_cast<std::uint16_t>(signature.text.size());
  fragment.digest = signature.digest;
  return fragment;
}

Signature Fragment::signature(std::string_view its_text) const {
  return {its_text, digest, bytes, static_cast<at::ScalarType>(type)};
}

/// Frames begin at multiples of a cache line, so at the ring's end there is room for a head.
std::size_t SharedRing::length(const Fragment& fragment) {
  const std::size_t bytes = sizeof(Fragment) + padded_text_length(fragment) +
                            (fragment.carries() ? static_cast<std::size_t>(fragment.bytes) : 0);
  return (bytes + 63) / 64 * 64;
}

bool SharedRing::has_room_for(std::uint64_t end) {
  if (end - read_seen_ <= kBytes) return true;
  read_seen_ = head_->read.load(std::memory_order_seq_cst);
  return end - read_seen_ <= kBytes;
}

/// Now and then, while there is memory to be saved, it looks whether all has been read.
void SharedRing::make_place_for(std::size_t needed) {
  constexpr std::size_t kMostOfAText = std::size_t{1} << 16;
  static_assert(sizeof(Fragment) + kMostOfAText + kMaxFragment + 64 <= kBytes / 2,
                "no fragment goes past the end");
  static_assert(2 * (sizeof(Fragment) + kMostOfAText + kMaxFragment + 64) + kCrowded <= kBytes,
                "who finds no room finds the ring crowded");
  if (taken_ == kBytes) return;
  const std::uint64_t written = head_->written.load(std::memory_order_relaxed);
  std::size_t end = place(written) + needed;
  if (place(written) / kLook != end / kLook) {
    read_seen_ = head_->read.load(std::memory_order_acquire);
    if (read_seen_ == written) {
      head_->base = written;  // who reads does not look at it before there is more
      end = needed;
    }
  }
  if (end <= taken_) return;
  const std::size_t taken = std::max(std::bit_ceil(end), kFirst);
  commit_memory_(taken_, taken);
  taken_ = taken;
}

std::byte* SharedRing::begin(const Fragment& fragment, const char* text) {
  const std::size_t needed = length(fragment);
  make_place_for(needed);
  const std::uint64_t written = head_->written.load(std::memory_order_relaxed);
  const std::size_t at = place(written);
  const std::size_t skipped = at + needed > kBytes ? kBytes - at : 0;
  const std::uint64_t end = written + skipped + needed;
  if (!has_room_for(end)) {
    head_->room_wanted.store(true, std::memory_order_seq_cst);
    if (!has_room_for(end)) return nullptr;
  }
  if (skipped > 0) std::memcpy(fragments_ + at + offsetof(Fragment, message), &kWrap, sizeof kWrap);
  std::byte* to = fragments_ + (skipped > 0 ? 0 : at);
  std::memcpy(to, &fragment, sizeof fragment);
  if (fragment.text > 0) std::memcpy(to + sizeof fragment, text, fragment.text);
  end_ = end;
  return to + sizeof fragment + padded_text_length(fragment);
}

bool SharedRing::put(const Fragment& fragment, const char* text, const std::byte* bytes, bool past) {
  std::byte* const behind = begin(fragment, text);
  if (behind == nullptr) return false;
  if (fragment.carries() && past) {
    kernels::copy_nontemporal(behind, bytes, static_cast<std::size_t>(fragment.bytes));
    kernels::fence_nontemporal();
  } else if (fragment.carries()) {
    std::copy_n(bytes, fragment.bytes, behind);
  }
  publish();
  return true;
}

void SharedRing::prefetch_awaited(const std::byte* next) const {
  if (next == nullptr) next = fragments_;  // nothing has come yet
  kernels::fetch_to_read(reinterpret_cast<const std::byte*>(&head_->written));
  for (std::size_t line = 0; line < kAwaited; line += kLine) kernels::fetch_to_read(next + line);
}

void SharedRing::prefetch_written() const {
  const std::uint64_t read = head_->read.load(std::memory_order_relaxed);
  const std::uint64_t bytes = head_->written.load(std::memory_order_relaxed) - read;
  const std::byte* from = fragments_ + place(read);
  for (std::size_t line = 0; line < std::min<std::uint64_t>(bytes, kFetched); line += kLine)
    kernels::fetch_to_read(from + line);
}

void SharedRing::prefetch_next(std::size_t length) const {
  const std::size_t at = place(head_->written.load(std::memory_order_relaxed));
  for (std::size_t line = 0; line < std::min({length, kFetched, kBytes - at}); line += kLine)
    kernels::fetch_to_write(fragments_ + at + line);
  if (at / kLook != (at + length) / kLook) kernels::fetch_to_read(reinterpret_cast<std::byte*>(&head_->read));
}

/// A writer that finds no room has found it crowded. So who has made room from there has looked; who made
/// more since need not, for the writer looks again once it has said that it wants room.
bool SharedRing::room_is_wanted() {
  if (!std::exchange(crowded_, false)) return false;
  std::atomic_thread_fence(
      std::memory_order_seq_cst);  // the writer sees what was read, or this what it wants
  return head_->room_wanted.load(std::memory_order_relaxed) &&
         head_->room_wanted.exchange(false, std::memory_order_relaxed);
}

const Fragment* SharedRing::front() const {
  const std::uint64_t read = head_->read.load(std::memory_order_relaxed);
  if (head_->written.load(std::memory_order_acquire) == read) return nullptr;
  const auto* fragment = reinterpret_cast<const Fragment*>(fragments_ + place(read));
  return fragment->message == kWrap ? reinterpret_cast<const Fragment*>(fragments_) : fragment;
}

const std::byte* SharedRing::pop(const Fragment& first) {
  const std::uint64_t read = head_->read.load(std::memory_order_relaxed);
  const std::size_t at = place(read);
  crowded_ = crowded_ || head_->written.load(std::memory_order_relaxed) - read > kCrowded;
  const bool wrapped = reinterpret_cast<const std::byte*>(&first) != fragments_ + at;
  const std::size_t taken = length(first);
  head_->read.store(read + (wrapped ? kBytes - at : 0) + taken, std::memory_order_release);
  return reinterpret_cast<const std::byte*>(&first) + taken;
}

}  // namespace riesz
