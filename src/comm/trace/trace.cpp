// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/comm/trace/trace.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/comm/spin_lock.h"

namespace riesz {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

std::int64_t nanoseconds(SteadyTime time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

std::int64_t clock_now() { return nanoseconds(std::chrono::steady_clock::now()); }

/// One thread's events; `stop` reads them from another thread.
struct ThreadEvents {
  static constexpr std::size_t kDropped = static_cast<std::size_t>(-1);

  SpinLock mutex;
  std::uint64_t trace = 0;  // the number of the one that they are of
  std::size_t number = 0;   // of the thread
  std::vector<TraceEvent> events;
  std::vector<std::size_t> open;  // in `events`, the innermost last
};

thread_local const char* thread_name = nullptr;

class TraceSink final : public RangeSink {
 public:
  void start(std::int64_t most) {
    {
      const std::lock_guard lock(mutex_);
      threads_.clear();
      names_.clear();
      count_ = 0;
      most_ = most;
      began_ = clock_now();
      number_.fetch_add(1);
    }
    of_this_thread();  // the first
  }

  TraceLog stop() {
    const std::lock_guard lock(mutex_);
    const std::int64_t end = clock_now();
    const std::uint64_t number = number_.fetch_add(1);  // what comes later is of none
    TraceLog log{names_, {}, std::max<std::int64_t>(count_ - most_, 0), began_, end};
    for (const auto& each : threads_) {
      const std::lock_guard of_thread(each->mutex);
      if (each->trace != number) continue;
      for (const std::size_t open : each->open)
        if (open != ThreadEvents::kDropped) each->events[open].end = end;
      for (TraceEvent& event : each->events) log.events.push_back(std::move(event));
      each->events.clear();
      each->open.clear();
    }
    threads_.clear();
    return log;
  }

  void begin(RangeKind kind, std::string_view name, std::string_view detail) noexcept final {
    ThreadEvents& here = of_this_thread();
    const std::lock_guard lock(here.mutex);
    here.open.push_back(
        add(here, {kind, std::string(name), std::string(detail), here.number, clock_now(), 0, {}}));
  }

  void end() noexcept final {
    ThreadEvents& here = of_this_thread();
    const std::lock_guard lock(here.mutex);
    if (here.open.empty()) return;  // it began before the trace
    if (here.open.back() != ThreadEvents::kDropped) here.events[here.open.back()].end = clock_now();
    here.open.pop_back();
  }

  void sent(const Operation& operation, const Traffic& traffic) noexcept final {
    ThreadEvents& here = of_this_thread();
    const std::lock_guard lock(here.mutex);
    for (std::size_t i = here.open.size(); i-- > 0;) {
      if (here.open[i] == ThreadEvents::kDropped) continue;
      TraceEvent& range = here.events[here.open[i]];
      if (range.kind != RangeKind::operation) continue;
      if (range.name != operation.name) break;
      range.sent += traffic;
      return;
    }
    const std::int64_t time = clock_now();
    add(here, {RangeKind::operation, operation.name, operation.text, here.number, time, time, traffic});
  }

  void was_in_flight(std::string_view name, SteadyTime since) noexcept final {
    ThreadEvents& here = of_this_thread();
    const std::lock_guard lock(here.mutex);
    add(here,
        {RangeKind::in_flight, std::string(name), {}, here.number, nanoseconds(since), clock_now(), {}});
  }

 private:
  std::size_t add(ThreadEvents& here, TraceEvent event) {
    if (count_.fetch_add(1, std::memory_order_relaxed) >= most_) return ThreadEvents::kDropped;
    here.events.push_back(std::move(event));
    return here.events.size() - 1;
  }

  /// Made at the thread's first event in a trace.
  ThreadEvents& of_this_thread() {
    thread_local const std::shared_ptr<ThreadEvents> here = std::make_shared<ThreadEvents>();
    const std::uint64_t number = number_.load(std::memory_order_acquire);
    if (here->trace == number) return *here;
    const std::lock_guard lock(mutex_);
    const std::lock_guard of_thread(here->mutex);
    here->events.clear();
    here->open.clear();
    here->trace = number_;
    here->number = threads_.size();
    threads_.push_back(here);
    names_.push_back(thread_name != nullptr ? thread_name
                     : names_.empty()       ? "main"
                                            : concat("thread ", names_.size()));
    return *here;
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<ThreadEvents>> threads_;
  std::vector<std::string> names_;
  std::atomic<std::uint64_t> number_ = 1;
  std::atomic<std::int64_t> count_ = 0;
  std::int64_t most_ = 0;
  std::int64_t began_ = 0;
};

TraceSink& trace_sink() {
  static auto* const sink = new TraceSink();
  return *sink;
}

}  // namespace

bool Trace::under_way() { return range_sink() == &trace_sink(); }

void Trace::start(std::int64_t most_events) {
  RIESZ_CHECK(range_sink() == nullptr,
              "Trace::start: ranges go to a sink already, such as a trace that is under way; stop it first");
  trace_sink().start(most_events);
  set_range_sink(&trace_sink());
}

TraceLog Trace::stop() {
  RIESZ_CHECK(under_way(), "Trace::stop: no trace is under way; call Trace::start before");
  set_range_sink(nullptr);
  return trace_sink().stop();
}

void name_thread(const char* name) { thread_name = name; }

}  // namespace riesz
