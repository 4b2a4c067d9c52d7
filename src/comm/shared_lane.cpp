// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared_lane.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/lent_memory.h"
#include "riesz/comm/ordered_sum.h"
#include "riesz/comm/progress.h"
#include "riesz/comm/sum_kernels.h"

namespace riesz {
namespace {

constexpr auto kMost = static_cast<std::int64_t>(SharedRing::kMostOfAFrame);
/// Bytes of a message from which on it goes past the caches: there lines of the ring would come from the
/// other's, slower than from memory, at times several times so.
constexpr std::int64_t kPast = std::int64_t{1} << 14;

/// The frame that a message begins with.
Frame head(Frame::Kind kind, const Message& message, std::int64_t number) {
  const Declared declared = message.declared();
  Frame frame{.kind = kind, .key = message.key, .message = number, .bytes = declared.bytes};
  frame.type = static_cast<std::int16_t>(declared.type);
  frame.text = static_cast<std::uint16_t>(declared.text.size());
  frame.digest = declared.digest;
  return frame;
}

Frame answer_to(const Frame& frame, Frame::Kind kind) {
  return {.kind = kind, .key = frame.key, .message = frame.message, .bytes = 0};
}

void place_bytes(std::byte* to, const std::byte* from, std::size_t bytes) { std::copy_n(from, bytes, to); }

}  // namespace

void SharedLane::finish(Letter& letter) {
  letter.done = true;
  letter.ticket->left.fetch_sub(1, std::memory_order_acq_rel);
}

void SharedLane::fail(Letter& letter, const Declared& sent, const Declared& expected) {
  Ticket& ticket = *letter.ticket;
  if (ticket.failed) return;
  try {
    throw_difference(peer_, sent, expected);
  } catch (...) {
    ticket.failure = std::current_exception();
  }
  ticket.failed = true;
}

void SharedLane::send(std::shared_ptr<Letter> letter) {
  const Message& message = letter->message;
  const std::int64_t bytes = message.range.bytes();
  const std::int64_t number = sent_++;
  if (bytes <= kMost) {
    departures_.push_back({head(Frame::Kind::whole, message, number), std::move(letter)});
    return;
  }
  Frame frame = head(Frame::Kind::announce, message, number);
  if (const auto place = LentMemory::find(message.range.first(), bytes, peer_)) {
    frame.kind = Frame::Kind::lent;
    frame.from = place->name;
    frame.offset = place->offset;
  }
  announced_.emplace(number, letter);
  departures_.push_back({frame, std::move(letter)});
}

void SharedLane::receive(std::shared_ptr<Letter> letter) {
  const MessageKey key = letter->message.key;
  const auto found = early_.find(key);
  if (found == early_.end()) {
    receives_[key].push_back(std::move(letter));
    return;
  }
  const Early first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) early_.erase(found);
  match(letter, {first.frame, first.text.data(), first.bytes.data()});
}

void SharedLane::go_on() {
  const std::uint64_t written = out_.written();
  const bool taken = take_in();
  const auto ring = [&] {
    if (out_.written() != written || (taken && in_.room_is_wanted())) bell_.ring();
  };
  try {
    put_out();
  } catch (...) {
    ring();
    throw;
  }
  ring();
}

/// What nobody here waits for stays in the ring: taken out it would be copied twice, and its sender not held up.
/// True if there was something.
bool SharedLane::take_in() {
  const auto awaited = [&] { return !receives_.empty() || !announced_.empty() || !asked_.empty(); };
  bool taken = false;
  std::size_t drained = 0;
  for (const Frame* frame = in_.front(); frame != nullptr && awaited() && drained < SharedRing::kBytes;
       frame = in_.front()) {
    drained += sizeof(Frame) + static_cast<std::size_t>(std::min(frame->bytes, kMost));
    arrive({*frame, SharedRing::text(frame), SharedRing::bytes(frame)});
    in_.pop();
    taken = true;
    note_movement();
  }
  return taken;
}

void SharedLane::put_out() {
  while (!departures_.empty() && depart(departures_.front())) {
    departures_.pop_front();
    note_movement();
  }
}

/// True when all of it is in the ring.
bool SharedLane::depart(Departure& departure) {
  if (departure.letter == nullptr) return out_.put(departure.frame, nullptr, nullptr);
  Letter& letter = *departure.letter;
  const char* text = letter.message.label->text().data();
  const Frame::Kind kind = departure.frame.kind;
  if (kind != Frame::Kind::whole && kind != Frame::Kind::part)
    return out_.put(departure.frame, text, nullptr);
  const Range& range = letter.message.range;
  const bool past = range.bytes() >= kPast;
  do {  // once, if there are none
    Frame frame = departure.frame;
    frame.bytes = std::min(range.bytes() - letter.moved, kMost);
    if (!out_.put(frame, text, range.first() + letter.moved, past)) return false;
    letter.moved += frame.bytes;
    note_movement();
  } while (letter.moved < range.bytes());
  finish(letter);
  return true;
}

void SharedLane::arrive(const Arrival& arrival) {
  const auto& [frame, text, bytes] = arrival;
  const auto answered = [&](auto& letters) {
    const auto found = letters.find(frame.message);
    return found == letters.end() ? nullptr : found->second;
  };
  if (frame.kind == Frame::Kind::ask) {
    departures_.push_back({answer_to(frame, Frame::Kind::part), answered(announced_)});
    announced_.erase(frame.message);
  } else if (frame.kind == Frame::Kind::taken) {
    finish(*answered(announced_));
    announced_.erase(frame.message);
  } else if (frame.kind == Frame::Kind::part) {
    Letter& letter = *answered(asked_);
    const bool large = letter.message.range.bytes() >= kernels::kPastTheCaches;
    const auto place = large ? kernels::stream : place_bytes;
    place(letter.message.range.first() + letter.moved, bytes, static_cast<std::size_t>(frame.bytes));
    letter.moved += frame.bytes;
    if (letter.moved < letter.message.range.bytes()) return;
    if (large) kernels::finish_streams();
    finish(letter);
    asked_.erase(frame.message);
  } else if (const auto found = receives_.find(frame.key); found != receives_.end()) {
    const std::shared_ptr<Letter> letter = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) receives_.erase(found);
    match(letter, arrival);
  } else {
    const bool whole = frame.kind == Frame::Kind::whole;
    early_[frame.key].push_back(
        {frame, {text, frame.text}, std::vector<std::byte>(bytes, bytes + (whole ? frame.bytes : 0))});
  }
}

void SharedLane::answer(Frame::Kind kind, const Frame& frame) {
  departures_.push_back({answer_to(frame, kind), nullptr});
}

void SharedLane::match(const std::shared_ptr<Letter>& letter, const Arrival& arrival) {
  const auto& [frame, text, bytes] = arrival;
  const bool whole = frame.kind == Frame::Kind::whole;
  const Declared sent{{text, frame.text}, frame.digest, frame.bytes, static_cast<at::ScalarType>(frame.type)};
  if (!letter->message.admits(sent)) {
    fail(*letter, sent, letter->message.declared());
    if (!whole) answer(Frame::Kind::taken, frame);  // its sender need not wait
    return;
  }
  if (whole) {
    place_bytes(letter->message.range.first(), bytes, static_cast<std::size_t>(frame.bytes));
    finish(*letter);
  } else if (frame.kind == Frame::Kind::lent) {
    take(letter, frame);
  } else {
    asked_.emplace(frame.message, letter);
    answer(Frame::Kind::ask, frame);
  }
}

void SharedLane::take(const std::shared_ptr<Letter>& letter, const Frame& frame) {
  const std::shared_ptr<SharedMemory> memory = LentMemory::named(frame.from);
  if (memory == nullptr) {  // this process has let it go
    asked_.emplace(frame.message, letter);
    answer(Frame::Kind::ask, frame);
    return;
  }
  copy_bytes(letter->message.range.first(), memory->data() + frame.offset, frame.bytes);
  finish(*letter);
  answer(Frame::Kind::taken, frame);
}

}  // namespace riesz
