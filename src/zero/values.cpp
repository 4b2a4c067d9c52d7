// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/zero/values.h"

#include <ATen/ops/empty.h>

#include <utility>

#include "riesz/zero/flat_memory.h"

namespace riesz {

Values::Values(const Team& team, Lifetimes::Values live, const at::TensorOptions& options,
               const std::shared_ptr<TeamMemory>& memory)
    : team_(team), live_(live), memory_(memory) {
  if (live_ == Live::a_step) {
    const at::ScalarType type = c10::typeMetaToScalarType(options.dtype());
    buffer_ = std::make_unique<TeamBuffer>(team_.workers, team_.elements(), type, options.device());
  }
  whole_ = buffer_ ? buffer_->local() : at::empty({team_.elements()}, options);
  const std::int64_t mine = team_.end() - team_.begin();
  if (live_ == Live::a_use) {
    from_ = std::exchange(memory_->taken, memory_->taken + team_.largest());
    piece_ = memory_->pieces->local().narrow(0, from_, mine);
  } else {
    piece_ = live_ == Live::always ? whole_ : whole_.narrow(0, team_.begin(), mine);
  }
}

void Values::fetch(const Operation& gather) {
  if (state_ != State::absent) return;
  if (live_ == Live::a_use) {
    take_memory(whole_);
    coming_ = memory_->pieces->all_gather(gather, team_.begins, TeamBuffer::Contents::piece, whole_, from_);
  } else {
    coming_ = buffer_->all_gather(gather, team_.begins, TeamBuffer::Contents::whole, whole_);
  }
  state_ = State::coming;
}

void Values::wait() {
  if (state_ != State::coming) return;
  state_ = State::absent;
  try {
    std::exchange(coming_, nullptr)->wait();
  } catch (...) {
    if (live_ == Live::a_use) let_memory_go(whole_);
    throw;
  }
  state_ = State::here;
}

void Values::release() {
  if (live_ != Live::a_use || state_ == State::absent) return;
  wait();
  let_memory_go(whole_);
  state_ = State::absent;
}

void Values::changed(const Operation& gather) {
  if (live_ == Live::always) return;
  if (live_ == Live::a_use) return release();
  wait();
  state_ = State::absent;
  fetch(gather);
}

}  // namespace riesz
