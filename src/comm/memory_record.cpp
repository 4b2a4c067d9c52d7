// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/memory_record.h"

#include <c10/core/CPUAllocator.h>
#include <torch/csrc/autograd/graph_task.h>

#include <cstddef>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "riesz/comm/error.h"
#include "riesz/comm/layer_scope.h"
#include "riesz/comm/without_values/reserved_memory.h"

namespace riesz {
namespace {

/// What this thread does.
Phase phase_now() {
  if (PhaseScope::current() == Phase::recompute) return Phase::recompute;
  if (torch::autograd::get_current_graph_task_id() >= 0) return Phase::backward;
  const auto origin = LayerScope::current();
  return origin ? origin->phase : Phase::forward;
}

/// A block is taken, or let go.
struct Event {
  std::size_t block;  // blocks are numbered in the order in which they are taken
  std::int64_t bytes;
  bool taken;
  Phase phase;
};

struct Held {
  c10::DataPtr memory;
  std::int64_t bytes;
  std::size_t block;
};

/// Notes what another allocator gives. Blocks may outlive the record.
class Noting final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    c10::DataPtr memory = below_->allocate(bytes);
    void* const data = memory.get();
    if (data == nullptr) return memory;
    const c10::Device device = memory.device();
    const Phase phase = phase_now();
    const std::lock_guard lock(mutex_);
    const auto size = static_cast<std::int64_t>(bytes);
    held_.insert_or_assign(data, Held{std::move(memory), size, next_});
    events_.push_back({next_++, size, true, phase});
    alive_ += size;
    return {data, data, &let_go, device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &let_go; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

  void begin(c10::Allocator* below) {
    const std::lock_guard lock(mutex_);
    RIESZ_CHECK(below_ == nullptr, "MemoryRecord: one lives already; end it before the next is made");
    below_ = below;
    begin_ = next_;
    alive_ = 0;
    anew();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    below_ = nullptr;
    events_ = {};
  }
  void restart() {
    const std::lock_guard lock(mutex_);
    anew();
  }
  std::int64_t alive() {
    const std::lock_guard lock(mutex_);
    return alive_;
  }
  MemoryUse at_peak() {
    const std::lock_guard lock(mutex_);
    return use_after(events_until_peak());
  }

 private:
  static void let_go(void* data);

  void anew() {
    events_.clear();
    first_ = next_;
    lasting_ = alive_;
  }

  std::size_t events_until_peak() const {
    std::int64_t now = lasting_, most = lasting_;
    std::size_t until = 0;
    for (std::size_t i = 0; i < events_.size(); ++i) {
      now += events_[i].taken ? events_[i].bytes : -events_[i].bytes;
      if (now <= most) continue;
      most = now;
      until = i + 1;
    }
    return until;
  }

  MemoryUse use_after(std::size_t events) const;

  std::mutex mutex_;
  c10::Allocator* below_ = nullptr;
  std::unordered_map<void*, Held> held_;
  std::vector<Event> events_;
  std::size_t next_ = 0, begin_ = 0, first_ = 0;  // blocks: the next, this record's first, the first since
  std::int64_t alive_ = 0, lasting_ = 0;
};

Noting& noting() {
  static Noting& all = *new Noting;  // blocks may outlive all else
  return all;
}

void Noting::let_go(void* data) {
  Noting& all = noting();
  const Phase phase = phase_now();
  Held gone;
  const std::lock_guard lock(all.mutex_);
  const auto found = all.held_.find(data);
  gone = std::move(found->second);
  all.held_.erase(found);
  if (all.below_ == nullptr || gone.block < all.begin_) return;  // of an earlier record
  all.alive_ -= gone.bytes;
  all.events_.push_back({gone.block, gone.bytes, false, phase});
}

/// What a block that is taken in one phase and let go in another counts as; nothing: it stays.
std::int64_t MemoryUse::*kind_of(Phase taken, const Phase* gone) {
  switch (taken) {
    case Phase::forward:
      return gone != nullptr && *gone == Phase::backward ? &MemoryUse::activations : &MemoryUse::temporaries;
    case Phase::recompute:
      return gone != nullptr && *gone == Phase::recompute ? &MemoryUse::temporaries : &MemoryUse::activations;
    case Phase::backward:
      return gone == nullptr || *gone == Phase::update ? &MemoryUse::gradients : &MemoryUse::temporaries;
    case Phase::update:
      break;
  }
  return &MemoryUse::temporaries;
}

MemoryUse Noting::use_after(std::size_t events) const {
  MemoryUse use{lasting_};
  std::vector<const Event*> gone(next_ - first_, nullptr);
  for (const Event& event : events_)
    if (!event.taken && event.block >= first_) gone[event.block - first_] = &event;
  for (std::size_t i = 0; i < events; ++i) {
    const Event& event = events_[i];
    if (event.block < first_) {
      use.lasting -= event.bytes;
    } else if (event.taken) {
      const Event* const end = gone[event.block - first_];
      if (end == nullptr || end >= events_.data() + events)
        use.*kind_of(event.phase, end == nullptr ? nullptr : &end->phase) += event.bytes;
    }
  }
  return use;
}

}  // namespace

MemoryRecord::MemoryRecord() : before_(c10::GetCPUAllocator()) {
  noting().begin(before_);
  c10::SetCPUAllocator(&noting(), kScopedAllocator);
  if (c10::GetCPUAllocator() == &noting()) return;
  noting().end();
  throw_error("MemoryRecord: another allocator of CPU tensors has a higher priority; end its use first");
}

MemoryRecord::~MemoryRecord() {
  c10::SetCPUAllocator(before_, kScopedAllocator);
  noting().end();
}

void MemoryRecord::restart() { noting().restart(); }
std::int64_t MemoryRecord::alive() const { return noting().alive(); }
MemoryUse MemoryRecord::at_peak() const { return noting().at_peak(); }

}  // namespace riesz
