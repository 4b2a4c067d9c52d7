// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/reductions.h"

#include <algorithm>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"

namespace riesz {

void Reductions::open() {
  if (state_ != State::idle) return;
  for (const auto& bucket : buckets_) bucket->gradients().again();
  state_ = State::open;
}

void Reductions::begin(std::int64_t i, std::int64_t of) {
  if (i > 0 && every_micro_batch()) {
    reduce_all();
    for (const auto& bucket : buckets_) bucket->gradients().again();
    next_ = 0;
  }
  open();
  state_ = State::open;
  std::fill(put_off_.begin(), put_off_.end(), false);
  to_come_ = of - i - 1;
}

void Reductions::passed(std::size_t unit, bool wait) {
  if (put_off_[unit]) return;
  for (const std::size_t b : plan_.units[unit].buckets) {
    Gradients& gradients = buckets_[b]->gradients();
    RIESZ_CHECK(
        gradients.state() == Gradients::State::collecting || gradients.state() == Gradients::State::complete,
        "Zero: backward comes to ", buckets_[b]->name(),
        " again, whose gradients are reduced already; say begin(i, of) before each of a step's "
        "micro-batches, and zero_gradients() after the step");
    if (reduces())
      gradients.passed();
    else
      gradients.collect();
  }
  if (reduces()) reduce_ready(wait);
}

void Reductions::reduce_ready(bool wait) {
  for (; next_ < buckets_.size(); ++next_) {
    Bucket& bucket = *buckets_[buckets_.size() - 1 - next_];
    if (bucket.gradients().state() == Gradients::State::collecting) return;
    const LayerScope layer(bucket.name(), Phase::backward);
    if (!bucket.reduce(wait)) return;
  }
}

/// What backward has not reached counts as zero.
void Reductions::reduce_all() {
  for (const auto& bucket : buckets_) bucket->gradients().passed();
  reduce_ready(true);
}

void Reductions::finish() {
  if (state_ == State::idle) {
    for (const auto& bucket : buckets_) bucket->gradients().clear();
    return;
  }
  end();
  for (const auto& bucket : buckets_) bucket->check_none_late();
}

void Reductions::end() {
  if (state_ == State::ended) return;
  if (reducing_) {
    reduce_all();
  } else {
    for (const auto& bucket : buckets_) {
      bucket->gradients().collect();
      bucket->gradients().fill();
    }
  }
  for (const auto& bucket : buckets_) bucket->gradients().finish();
  state_ = State::ended;
}

void Reductions::drop() {
  if (state_ != State::idle) end();  // how many have begun may differ between workers
  for (const auto& bucket : buckets_) bucket->gradients().drop();
  std::fill(put_off_.begin(), put_off_.end(), false);
  state_ = State::idle;
  to_come_ = 0;
  next_ = 0;
}

}  // namespace riesz
