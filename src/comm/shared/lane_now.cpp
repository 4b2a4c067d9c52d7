// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// The small messages of a lane, which are sent and received without requests.
#include <algorithm>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/progress/background.h"
#include "riesz/comm/shared/lane.h"

namespace riesz {

bool SharedLane::send_now(MatchKey key, const Signature& signature, const Transport::Pack& pack) {
  if (!queued_.empty()) return false;
  Fragment fragment = Fragment::head(Fragment::Kind::eager, key, signature, sent_);
  if (texts_out_.has(signature.digest)) fragment.text = 0;
  std::byte* to = nullptr;
  try {
    to = out_.begin(fragment, signature.text.data());
  } catch (const Error&) {  // no memory for it: who posts it is told
  }
  if (to == nullptr) return false;
  pack(to);
  out_.publish();
  out_.prefetch_next(SharedRing::length(fragment));
  if (fragment.text > 0) texts_out_.add(signature.digest, {});
  ++sent_;
  note_movement();
  return true;
}

bool SharedLane::receive_now(MatchKey key, const Signature& expected, const Transport::Unpack& unpack) {
  if (const auto first = take_unexpected(key)) {
    hand_over({first->fragment, first->text, first->bytes.data()}, expected, unpack);
    return true;
  }
  std::size_t drained = 0;
  in_.prefetch_written();
  for (const Fragment* fragment = in_.front(); fragment != nullptr && drained < SharedRing::kBytes;
       fragment = in_.front()) {
    const Arrival next = arrival(*fragment);
    const struct Taken {
      SharedLane& lane;
      const Fragment& fragment;
      ~Taken() { lane.pop(fragment); }
    } taken{*this, *fragment};
    if (fragment->begins_message() && fragment->key == key) {
      hand_over(next, expected, unpack);
      return true;
    }
    drained += SharedRing::length(*fragment);
    arrive(next);
  }
  return false;
}

void SharedLane::hand_over(const Arrival& arrival, const Signature& expected,
                           const Transport::Unpack& unpack) {
  const auto& [fragment, text, bytes] = arrival;
  const Signature sent = fragment.signature(text);
  if (fragment.kind != Fragment::Kind::eager) {  // it is larger than expected; its sender need not wait
    answer(Fragment::Kind::copied, fragment);
    put_out();
    ring();
  }
  if (!sent.matches(expected)) throw_mismatch(peer_, sent, expected);
  unpack(bytes);
}

}  // namespace riesz
