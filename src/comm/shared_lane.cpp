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

Round::Round(std::vector<Message> sent, std::vector<Message> received)
    : sends(std::move(sent)), receives(std::move(received)) {
  const std::size_t count = sends.size() + receives.size();
  if (count > 1) {
    several = std::make_unique<Letter[]>(count);
    letters = several.get();
  }
  left = static_cast<std::int64_t>(count);
  Letter* letter = letters;
  for (std::vector<Message>* messages : {&receives, &sends}) {
    for (Message& message : *messages) {
      letter->message = &message;
      letter->round = this;
      ++letter;
    }
  }
}

void SharedLane::finish(Letter& letter) {
  letter.done = true;
  letter.round->left.fetch_sub(1, std::memory_order_acq_rel);
}

void SharedLane::fail(Letter& letter, const Declared& sent, const Declared& expected) {
  Round& round = *letter.round;
  if (round.failed) return;
  try {
    throw_difference(peer_, sent, expected);
  } catch (...) {
    round.failure = std::current_exception();
  }
  round.failed = true;
}

void SharedLane::send(const std::shared_ptr<Round>& round, Letter& letter) {
  const Message& message = *letter.message;
  const std::int64_t bytes = message.range.bytes();
  const std::int64_t number = sent_++;
  Frame frame = head(bytes <= kMost ? Frame::Kind::whole : Frame::Kind::announce, message, number);
  if (bytes > kMost) {
    if (const auto place = LentMemory::find(message.range.first(), bytes, peer_)) {
      frame.kind = Frame::Kind::lent;
      frame.from = place->name;
      frame.offset = place->offset;
    }
    announced_.emplace(number, Held(round, &letter));
  }
  try {
    if (departures_.empty() && depart(frame, &letter)) return;
  } catch (const Error&) {
    // There is no memory for it; `go_on` asks for it again, and says so.
  }
  departures_.push_back({frame, Held(round, &letter)});
}

void SharedLane::receive(const std::shared_ptr<Round>& round, Letter& letter) {
  const MessageKey key = letter.message->key;
  const auto found = early_.empty() ? early_.end() : early_.find(key);
  if (found == early_.end()) {
    receives_.push_back({key, Held(round, &letter)});
    return;
  }
  const Early first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) early_.erase(found);
  match(Held(round, &letter), {first.frame, first.text.data(), first.bytes.data()});
}

void SharedLane::go_on() {
  const bool taken = take_in();
  try {
    put_out();
  } catch (...) {
    ring(taken);
    throw;
  }
  ring(taken);
}

void SharedLane::ring(bool taken) {
  const bool put = std::exchange(rung_, out_.written()) != out_.written();
  if (put || (taken && in_.room_is_wanted())) bell_.ring();
}

/// What nobody here waits for stays in the ring: taken out it would be copied twice, and its sender not held
/// up. True if there was something.
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
  while (!departures_.empty() && depart(departures_.front().frame, departures_.front().letter.get()))
    departures_.pop_front();
}

/// True when all of it is in the ring.
bool SharedLane::depart(const Frame& frame, Letter* letter) {
  const bool whole = frame.kind == Frame::Kind::whole;
  if (letter == nullptr || (!whole && frame.kind != Frame::Kind::part)) {
    const char* text = letter == nullptr ? nullptr : letter->message->label->text().data();
    if (!out_.put(frame, text, nullptr)) return false;
    note_movement();
    return true;
  }
  const char* text = letter->message->label->text().data();
  const Range& range = letter->message->range;
  const std::int64_t bytes = range.bytes();
  const std::byte* first = range.first();
  do {  // once, if there are none
    Frame next = frame;
    next.bytes = std::min(bytes - letter->moved, kMost);
    if (!out_.put(next, text, first + letter->moved, bytes >= kPast)) return false;
    letter->moved += next.bytes;
    note_movement();
  } while (letter->moved < bytes);
  finish(*letter);
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
    const Range& range = letter.message->range;
    const bool large = range.bytes() >= kernels::kPastTheCaches;
    const auto place = large ? kernels::stream : place_bytes;
    place(range.first() + letter.moved, bytes, static_cast<std::size_t>(frame.bytes));
    letter.moved += frame.bytes;
    if (letter.moved < range.bytes()) return;
    if (large) kernels::finish_streams();
    finish(letter);
    asked_.erase(frame.message);
  } else if (const auto found = std::find_if(receives_.begin(), receives_.end(),
                                             [&](const Expected& each) { return each.key == frame.key; });
             found != receives_.end()) {
    const Held letter = std::move(found->letter);
    receives_.erase(found);
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

void SharedLane::match(const Held& letter, const Arrival& arrival) {
  const auto& [frame, text, bytes] = arrival;
  const bool whole = frame.kind == Frame::Kind::whole;
  const Declared sent{{text, frame.text}, frame.digest, frame.bytes, static_cast<at::ScalarType>(frame.type)};
  if (!letter->message->admits(sent)) {
    fail(*letter, sent, letter->message->declared());
    if (!whole) answer(Frame::Kind::taken, frame);  // its sender need not wait
    return;
  }
  if (whole) {
    place_bytes(letter->message->range.first(), bytes, static_cast<std::size_t>(frame.bytes));
    finish(*letter);
  } else if (frame.kind == Frame::Kind::lent) {
    take(letter, frame);
  } else {
    asked_.emplace(frame.message, letter);
    answer(Frame::Kind::ask, frame);
  }
}

void SharedLane::take(const Held& letter, const Frame& frame) {
  const std::shared_ptr<SharedMemory> memory = LentMemory::named(frame.from);
  if (memory == nullptr) {  // this process has let it go
    asked_.emplace(frame.message, letter);
    answer(Frame::Kind::ask, frame);
    return;
  }
  copy_bytes(letter->message->range.first(), memory->data() + frame.offset, frame.bytes);
  finish(*letter);
  answer(Frame::Kind::taken, frame);
}

}  // namespace riesz
