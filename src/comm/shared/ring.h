// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "riesz/comm/transport.h"

namespace riesz {

/// A fragment: the header of one part of a message in a ring; the part's bytes follow it.
struct Fragment {
  enum class Kind : std::int32_t {
    eager,            ///< a small message, with its bytes
    request_to_send,  ///< a large message is there; its bytes follow after `clear_to_send`
    clear_to_send,    ///< the receive of a large message is posted
    data,             ///< bytes of a large message
    in_region,        ///< a large message lies in a shared region, from which the receiver copies it
    copied,           ///< the receiver has copied it: its memory is free again
  };

  /// The fragment that a message begins with. `number`: the message's at its sender.
  static Fragment head(Kind kind, MatchKey key, const Signature& signature, std::int64_t number);
  bool begins_message() const {
    return kind == Kind::eager || kind == Kind::request_to_send || kind == Kind::in_region;
  }
  /// True if its bytes follow in the ring.
  bool carries() const { return kind == Kind::eager || kind == Kind::data; }
  /// The signature of a message that begins with this fragment and has this text.
  Signature signature(std::string_view its_text) const;

  Kind kind;
  MatchKey key;
  std::int16_t type = 0;   ///< of the message's elements
  std::uint16_t text = 0;  ///< length of the operator's text, which follows; 0: none, or it went before
  std::int64_t message;    ///< the message's number at its sender, for answers
  std::int64_t bytes;      ///< of the message; of `data`: in this fragment
  std::uint64_t digest = 0;
  std::int64_t from = 0;    ///< `in_region`: the region's name,
  std::int64_t offset = 0;  ///< and where in it the message begins
};

/// A ring: a queue of fragments from one process to another, in memory that both map. A `SharedRing` is one
/// end of it. One process writes, the other reads, nobody waits. Each process guards its end against its own
/// threads. Memory is committed as fragments need it. Once all has been read, the ring begins at its start
/// again, so a pair that sends little takes little memory. Private to src/comm.
class SharedRing {
 public:
  static constexpr std::size_t kBytes = std::size_t{1} << 18;  ///< of the fragments under way, at most
  static constexpr std::size_t kMaxFragment = std::size_t{1} << 15;
  static constexpr std::size_t kFirst = std::size_t{1} << 14;  ///< committed at first; then twice as much

  /// What both ends share besides the fragments; zeros at first.
  struct Head {
    alignas(128) std::atomic<std::uint64_t> written;  // bytes, ever
    std::uint64_t base;  // the value of `written` and `read` when the ring last began at its start
    alignas(64) std::atomic<std::uint64_t> read;
    alignas(64) std::atomic<bool> room_wanted;
  };

  /// Commits memory for the fragments from `begin` to before `end`, in whole pages. For the writer; may
  /// throw.
  using CommitMemory = std::function<void(std::size_t begin, std::size_t end)>;

  /// `fragments`: kBytes of them.
  SharedRing(Head& head, std::byte* fragments, CommitMemory commit_memory = {})
      : head_(&head), fragments_(fragments), commit_memory_(std::move(commit_memory)) {}

  /// Writes a fragment, its text and its bytes (`fragment.bytes` if it `carries` them, else none).
  /// `past`: bypasses the caches. False if there is no room now. @throws what `CommitMemory` does; then
  /// nothing is written.
  bool put(const Fragment& fragment, const char* text, const std::byte* bytes, bool past);
  /// The same in two steps, for bytes that the caller writes itself. `begin` returns their place, or nullptr
  /// if there is no room now. The reader sees the fragment after `publish`.
  std::byte* begin(const Fragment& fragment, const char* text);
  void publish() { head_->written.store(end_, std::memory_order_release); }

  /// `front`: the first fragment, or nullptr. `text` and `bytes`: those of a fragment in the ring. `pop`
  /// removes the first, which it is given.
  const Fragment* front() const;
  static std::string_view text(const Fragment* fragment) {
    return {reinterpret_cast<const char*>(fragment + 1), fragment->text};
  }
  static const std::byte* bytes(const Fragment* fragment) {
    return reinterpret_cast<const std::byte*>(fragment + 1) + padded_text_length(*fragment);
  }
  /// Returns the place of the next one, unless the ring begins at its start again.
  const std::byte* pop(const Fragment& first);

  /// Prefetches lines of memory. `prefetch_awaited` and `prefetch_written` are for the reader. The first
  /// fetches the beginning of the fragment that will come to `next`, and may be called by any thread; the
  /// other fetches what has been written. `prefetch_next` is for the writer, and fetches the place of the next
  /// fragment, of that length.
  void prefetch_awaited(const std::byte* next) const;
  void prefetch_written() const;
  void prefetch_next(std::size_t length) const;

  /// Bytes written so far; for the writer.
  std::uint64_t written() const { return head_->written.load(std::memory_order_relaxed); }
  /// For the reader, after `pop`: true if the writer has found no room since the last call. Cheap unless the
  /// ring was crowded.
  bool room_is_wanted();

  /// The length of a fragment's text, padded so that the bytes behind it are aligned.
  static std::size_t padded_text_length(const Fragment& fragment) {
    return (std::size_t{fragment.text} + 7) / 8 * 8;
  }
  /// The bytes that it takes in the ring.
  static std::size_t length(const Fragment& fragment);

 private:
  static constexpr std::int64_t kWrap = -1;

  std::size_t place(std::uint64_t bytes) const { return (bytes - head_->base) % kBytes; }
  bool has_room_for(std::uint64_t end);
  void make_place_for(std::size_t needed);

  Head* head_;
  std::byte* fragments_;
  // The writer's.
  CommitMemory commit_memory_;
  std::size_t taken_ = 0;
  std::uint64_t read_seen_ = 0;
  std::uint64_t end_ = 0;  // of the fragment that is begun
  // The reader's.
  bool crowded_ = false;  // it was crowded at a `pop` since the last look whether room is wanted
};

}  // namespace riesz
