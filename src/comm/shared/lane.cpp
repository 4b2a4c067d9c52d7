// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/shared/lane.h"

#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/shared/regions.h"
#include "riesz/comm/sum/kernels.h"
#include "riesz/comm/sum/ordered_sum.h"

namespace riesz {
namespace {

constexpr auto kMost = static_cast<std::int64_t>(SharedRing::kMaxFragment);
/// Bytes of a message from which on it goes past the caches: there lines of the ring would come from the
/// other's, slower than from memory, at times several times so.
constexpr std::int64_t kPast = std::int64_t{1} << 14;

Fragment answer_to(const Fragment& fragment, Fragment::Kind kind) {
  return {.kind = kind, .key = fragment.key, .message = fragment.message, .bytes = 0};
}

void place_bytes(std::byte* to, const std::byte* from, std::size_t bytes) { std::copy_n(from, bytes, to); }

}  // namespace

PostedRound::PostedRound(std::vector<Message> sent, std::vector<Message> received)
    : sends(std::move(sent)), receives(std::move(received)) {
  const std::size_t count = sends.size() + receives.size();
  if (count > 1) {
    several = std::make_unique<Request[]>(count);
    requests = several.get();
  }
  left = static_cast<std::int64_t>(count);
  Request* request = requests;
  for (std::vector<Message>* messages : {&receives, &sends}) {
    for (Message& message : *messages) {
      request->message = &message;
      request->round = this;
      ++request;
    }
  }
}

void SharedLane::finish(Request& request) {
  request.done = true;
  request.round->left.fetch_sub(1, std::memory_order_acq_rel);
}

void SharedLane::fail(Request& request, const Signature& sent, const Signature& expected) {
  PostedRound& round = *request.round;
  if (round.failed) return;
  try {
    throw_mismatch(peer_, sent, expected);
  } catch (...) {
    round.failure = std::current_exception();
  }
  round.failed = true;
}

void SharedLane::send(const std::shared_ptr<PostedRound>& round, Request& request) {
  const Message& message = *request.message;
  const std::int64_t bytes = message.span.bytes();
  const std::int64_t number = sent_++;
  Fragment fragment = Fragment::head(bytes <= kMost ? Fragment::Kind::eager : Fragment::Kind::request_to_send,
                                     message.key, message.signature(), number);
  if (bytes > kMost) {
    if (const auto place = SharedRegions::find(message.span.first(), bytes, peer_)) {
      fragment.kind = Fragment::Kind::in_region;
      fragment.from = place->name;
      fragment.offset = place->offset;
    }
    announced_.emplace(number, Held(round, &request));
  }
  try {
    if (queued_.empty() && send_queued(fragment, &request)) return;
  } catch (const Error&) {
    // There is no memory for it; `progress` asks for it again, and says so.
  }
  queued_.push_back({fragment, Held(round, &request)});
}

void SharedLane::receive(const std::shared_ptr<PostedRound>& round, Request& request) {
  const MatchKey key = request.message->key;
  if (const auto first = take_unexpected(key))
    match(Held(round, &request), {first->fragment, first->text, first->bytes.data()});
  else
    expected_.push_back({key, Held(round, &request)});
}

std::optional<SharedLane::UnexpectedMessage> SharedLane::take_unexpected(MatchKey key) {
  if (unexpected_.empty()) return std::nullopt;
  const auto found = unexpected_.find(key);
  if (found == unexpected_.end()) return std::nullopt;
  UnexpectedMessage first = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) unexpected_.erase(found);
  return first;
}

void SharedLane::pop(const Fragment& first) {
  awaited_at_.store(in_.pop(first), std::memory_order_relaxed);
  taken_ = true;
  note_movement();
}

void SharedLane::progress() {
  take_in();
  try {
    put_out();
  } catch (...) {
    ring();
    throw;
  }
  ring();
}

void SharedLane::ring() {
  const bool put = std::exchange(rung_, out_.written()) != out_.written();
  const bool taken = std::exchange(taken_, false);
  if (put || (taken && in_.room_is_wanted())) doorbell_.ring();
}

/// A fragment as it comes: each is asked for once, in order.
SharedLane::Arrival SharedLane::arrival(const Fragment& fragment) {
  if (fragment.text > 0) texts_in_.add(fragment.digest, SharedRing::text(&fragment));
  return {fragment, texts_in_.of(fragment.digest), SharedRing::bytes(&fragment)};
}

/// What nobody here waits for stays in the ring: taken out it would be copied twice, and its sender not held
/// up.
void SharedLane::take_in() {
  const auto awaited = [&] { return !expected_.empty() || !announced_.empty() || !asked_.empty(); };
  std::size_t drained = 0;
  while (awaited() && drained < SharedRing::kBytes) {  // else the head is not looked at, which is far
    const Fragment* fragment = in_.front();
    if (fragment == nullptr) return;
    drained += sizeof(Fragment) + static_cast<std::size_t>(std::min(fragment->bytes, kMost));
    arrive(arrival(*fragment));
    pop(*fragment);
  }
}

void SharedLane::put_out() {
  while (!queued_.empty() && send_queued(queued_.front().fragment, queued_.front().request.get()))
    queued_.pop_front();
}

/// True when all of it is in the ring.
bool SharedLane::send_queued(const Fragment& fragment, Request* request) {
  const char* text = request == nullptr ? nullptr : request->message->label->text().data();
  Fragment next = fragment;
  if (next.text > 0 && texts_out_.has(next.digest)) next.text = 0;
  const auto put = [&](const std::byte* bytes, bool past) {
    if (!out_.put(next, text, bytes, past)) return false;
    if (next.text > 0) texts_out_.add(next.digest, {});
    note_movement();
    return true;
  };
  if (request == nullptr || !fragment.carries()) return put(nullptr, false);
  const TensorSpan& span = request->message->span;
  const std::int64_t bytes = span.bytes();
  const std::byte* first = span.first();
  do {  // once, if there are none
    next.bytes = std::min(bytes - request->moved, kMost);
    if (!put(first + request->moved, bytes >= kPast)) return false;
    request->moved += next.bytes;
  } while (request->moved < bytes);
  finish(*request);
  return true;
}

void SharedLane::arrive(const Arrival& arrival) {
  const auto& [fragment, text, bytes] = arrival;
  const auto answered = [&](auto& requests) {
    const auto found = requests.find(fragment.message);
    return found == requests.end() ? nullptr : found->second;
  };
  if (fragment.kind == Fragment::Kind::clear_to_send) {
    queued_.push_back({answer_to(fragment, Fragment::Kind::data), answered(announced_)});
    announced_.erase(fragment.message);
  } else if (fragment.kind == Fragment::Kind::copied) {
    finish(*answered(announced_));
    announced_.erase(fragment.message);
  } else if (fragment.kind == Fragment::Kind::data) {
    Request& request = *answered(asked_);
    const TensorSpan& span = request.message->span;
    const bool large = span.bytes() >= kernels::kNontemporalFrom;
    const auto place = large ? kernels::copy_nontemporal : place_bytes;
    place(span.first() + request.moved, bytes, static_cast<std::size_t>(fragment.bytes));
    request.moved += fragment.bytes;
    if (request.moved < span.bytes()) return;
    if (large) kernels::fence_nontemporal();
    finish(request);
    asked_.erase(fragment.message);
  } else if (const auto found = std::find_if(expected_.begin(), expected_.end(),
                                             [&](const Expected& each) { return each.key == fragment.key; });
             found != expected_.end()) {
    const Held request = std::move(found->request);
    expected_.erase(found);
    match(request, arrival);
  } else {
    const bool whole = fragment.kind == Fragment::Kind::eager;
    unexpected_[fragment.key].push_back(
        {fragment,
         std::string(text),
         std::vector<std::byte>(bytes, bytes + (whole ? fragment.bytes : 0))});
  }
}

void SharedLane::answer(Fragment::Kind kind, const Fragment& fragment) {
  queued_.push_back({answer_to(fragment, kind), nullptr});
}

void SharedLane::match(const Held& request, const Arrival& arrival) {
  const auto& [fragment, text, bytes] = arrival;
  const bool whole = fragment.kind == Fragment::Kind::eager;
  const Signature sent = fragment.signature(text);
  if (!sent.matches(request->message->signature())) {
    fail(*request, sent, request->message->signature());
    if (!whole) answer(Fragment::Kind::copied, fragment);  // its sender need not wait
    return;
  }
  if (whole) {
    place_bytes(request->message->span.first(), bytes, static_cast<std::size_t>(fragment.bytes));
    finish(*request);
  } else if (fragment.kind == Fragment::Kind::in_region) {
    take(request, fragment);
  } else {
    asked_.emplace(fragment.message, request);
    answer(Fragment::Kind::clear_to_send, fragment);
  }
}

void SharedLane::take(const Held& request, const Fragment& fragment) {
  const std::shared_ptr<SharedMemory> memory = SharedRegions::named(fragment.from);
  if (memory == nullptr) {  // this process has let it go
    asked_.emplace(fragment.message, request);
    answer(Fragment::Kind::clear_to_send, fragment);
    return;
  }
  copy_bytes(request->message->span.first(), memory->data() + fragment.offset, fragment.bytes);
  finish(*request);
  answer(Fragment::Kind::copied, fragment);
}

}  // namespace riesz
