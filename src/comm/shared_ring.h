// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "riesz/comm/transport.h"

namespace riesz {

/// The next part of a message, as it lies in a ring, in front of its bytes.
struct Frame {
  enum class Kind : std::int32_t {
    whole,     ///< a small message
    announce,  ///< a large one is there; its bytes come when they are asked for
    ask,       ///< of what was announced
    part,      ///< of what was asked for
    lent,      ///< announced, and lies in memory that the receiver maps too: it takes it from there
    taken,     ///< what was lent
  };
  Kind kind;
  MessageKey key;
  std::int16_t type = 0;   ///< a message's elements' type,
  std::uint16_t text = 0;  ///< and how many bytes behind the frame say of what operator it is; 0: an answer
  std::int64_t message;    ///< its number at the sender, where an answer is needed
  std::int64_t bytes;      ///< of the message; of a part: of this part
  std::uint64_t digest = 0;
  std::int64_t from = 0;    ///< lent: which memory,
  std::int64_t offset = 0;  ///< and where in it
};

/// One end of a queue of frames from one process to another in memory that both map: one writes, one reads,
/// nobody waits. Each process guards its end against its own threads. The memory for frames is taken as they
/// need it, from the beginning on, and where all has been read they begin there again: between two who send
/// each other little it stays little. Private to this room.
class SharedRing {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 18;  ///< of the frames under way, at most
  static constexpr std::size_t kMostOfAFrame = std::size_t{1} << 15;
  static constexpr std::size_t kFirst = std::size_t{1}
                                        << 14;  ///< of the memory taken first; then twice as much

  /// What both ends share beside the frames; zeros at first.
  struct Head {
    alignas(128) std::atomic<std::uint64_t> written;  // bytes, ever
    std::uint64_t base;  // as many had been written, and read, when it last began at its beginning
    alignas(64) std::atomic<std::uint64_t> read;
    alignas(64) std::atomic<bool> room_wanted;
  };

  /// The writer's says how memory is taken for the frames from `begin` to before `end`, in whole pages;
  /// thereby it may throw.
  using TakeMemory = std::function<void(std::size_t begin, std::size_t end)>;

  /// `frames`: kBytes of them.
  SharedRing(Head& head, std::byte* frames, TakeMemory take_memory = {})
      : head_(&head), frames_(frames), take_memory_(std::move(take_memory)) {}

  /// Puts a frame with its text and then its first bytes behind it (`frame.bytes` of a whole or a part, else
  /// none), past the caches if said so. False if there is no room now. @throws what `TakeMemory` does; then
  /// nothing is put.
  bool put(const Frame& frame, const char* text, const std::byte* bytes, bool past = false);

  /// The frame in front, or nullptr; what is behind it; and on to the next.
  const Frame* front() const;
  static const char* text(const Frame* frame) { return reinterpret_cast<const char*>(frame + 1); }
  static const std::byte* bytes(const Frame* frame) {
    return reinterpret_cast<const std::byte*>(frame + 1) + room(*frame);
  }
  void pop();

  /// Bytes put, ever; for who puts them.
  std::uint64_t written() const { return head_->written.load(std::memory_order_relaxed); }
  /// For who has popped some: has the writer found no room since this was asked?
  bool room_is_wanted();

  /// What a frame's text takes up: the bytes after it are aligned.
  static std::size_t room(const Frame& frame) { return (std::size_t{frame.text} + 7) / 8 * 8; }

 private:
  static constexpr std::int64_t kWrap = -1;

  static std::size_t length(const Frame& frame);
  std::size_t place(std::uint64_t bytes) const { return (bytes - head_->base) % kBytes; }
  bool has_room_for(std::uint64_t end);
  void make_place_for(std::size_t needed);

  Head* head_;
  std::byte* frames_;
  // The writer's.
  TakeMemory take_memory_;
  std::size_t taken_ = 0;
  std::uint64_t read_seen_ = 0;
};

}  // namespace riesz
