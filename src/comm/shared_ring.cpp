// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_ring.h"

#include <algorithm>
#include <cstring>

#include "riesz/comm/sum_kernels.h"

namespace riesz {

/// Frames begin at multiples of a cache line, so at the ring's end there is room for a head.
std::size_t SharedRing::length(const Frame& frame) {
  const bool carries = frame.kind == Frame::Kind::whole || frame.kind == Frame::Kind::part;
  const std::size_t bytes =
      sizeof(Frame) + room(frame) + (carries ? static_cast<std::size_t>(frame.bytes) : 0);
  return (bytes + 63) / 64 * 64;
}

bool SharedRing::put(const Frame& frame, const char* text, const std::byte* bytes, bool past) {
  const std::size_t needed = length(frame);
  const std::uint64_t written = written_.load(std::memory_order_relaxed);
  const std::size_t at = written % kBytes;
  const std::size_t skipped = at + needed > kBytes ? kBytes - at : 0;
  if (written + skipped + needed - read_seen_ > kBytes) {
    const auto full = [&] {
      read_seen_ = read_.load(std::memory_order_seq_cst);
      return written + skipped + needed - read_seen_ > kBytes;
    };
    if (full()) {
      room_wanted_.store(true, std::memory_order_seq_cst);
      if (full()) return false;
    }
  }
  if (skipped > 0) std::memcpy(frames_ + at + offsetof(Frame, message), &kWrap, sizeof kWrap);
  std::byte* to = frames_ + (skipped > 0 ? 0 : at);
  std::memcpy(to, &frame, sizeof frame);
  if (frame.text > 0) std::memcpy(to + sizeof frame, text, frame.text);
  std::byte* const behind = to + sizeof frame + room(frame);
  const bool carries = frame.kind == Frame::Kind::whole || frame.kind == Frame::Kind::part;
  if (carries && past) {
    kernels::stream(behind, bytes, static_cast<std::size_t>(frame.bytes));
    kernels::finish_streams();
  } else if (carries) {
    std::copy_n(bytes, frame.bytes, behind);
  }
  written_.store(written + skipped + needed, std::memory_order_release);
  return true;
}

bool SharedRing::room_is_wanted() {
  std::atomic_thread_fence(
      std::memory_order_seq_cst);  // the writer sees what was read, or this what it wants
  return room_wanted_.load(std::memory_order_relaxed) &&
         room_wanted_.exchange(false, std::memory_order_relaxed);
}

const Frame* SharedRing::front() const {
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  if (written_.load(std::memory_order_acquire) == read) return nullptr;
  const auto* frame = reinterpret_cast<const Frame*>(frames_ + read % kBytes);
  return frame->message == kWrap ? reinterpret_cast<const Frame*>(frames_) : frame;
}

void SharedRing::pop() {
  const std::uint64_t read = read_.load(std::memory_order_relaxed);
  const std::size_t at = read % kBytes;
  const Frame* frame = front();
  const bool wrapped = reinterpret_cast<const std::byte*>(frame) != frames_ + at;
  read_.store(read + (wrapped ? kBytes - at : 0) + length(*frame), std::memory_order_release);
}

}  // namespace riesz
