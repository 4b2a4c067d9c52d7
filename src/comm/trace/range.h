// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "riesz/comm/counters.h"

namespace riesz {

/// Kinds of ranges. `in_flight`: an operation that goes on while its thread does other things. `kernel`: an
/// operation of LibTorch (`KernelRanges`).
enum class RangeKind { step, phase, layer, operation, wait, in_flight, kernel };

/// A range sink: an object that is told when ranges begin and end, and what is sent. `Trace` is one. A thread
/// ends the range first that it began last. Calls come from several threads. A sink lives until the process
/// ends, for a thread may be inside of it when it is replaced. A sink may get ends of ranges that began
/// before it was set. It then has no open range of that thread, and ignores them. A range still open when the
/// sink is replaced never ends there.
class RangeSink {
 public:
  virtual ~RangeSink() = default;
  /// `detail`: what else people want to know, such as the spaces of an operator.
  virtual void begin(RangeKind kind, std::string_view name, std::string_view detail) noexcept = 0;
  virtual void end() noexcept = 0;
  /// Traffic of an operation left this worker, as `Counters` count it.
  virtual void sent(const Operation& operation, const Traffic& traffic) noexcept = 0;
  /// An operation was in flight from that time of the steady clock until now.
  virtual void was_in_flight(std::string_view name, std::chrono::steady_clock::time_point since) noexcept = 0;
};

/// The name of a layer's range: its path, or "model" for the whole model. The origin outlives it.
inline std::string_view name_of_layer(const Origin* origin) {
  return origin == nullptr || origin->layer.empty() ? "model" : std::string_view(origin->layer);
}

inline std::atomic<RangeSink*> range_sink_now = nullptr;

/// The sink of this process, or nullptr.
inline RangeSink* range_sink() { return range_sink_now.load(std::memory_order_relaxed); }
/// Sets it; nullptr: none. Returns the one before.
inline RangeSink* set_range_sink(RangeSink* sink) { return range_sink_now.exchange(sink); }

/// A range: an RAII object for a part of this thread's work, which a profile shows under its name. Ranges
/// nest. The library opens them for phases, layers, operators and waits. A program opens its own:
///
///     const Range step(RangeKind::step, "step 3");
///
/// Without a sink it costs two relaxed loads.
class Range {
 public:
  Range(RangeKind kind, std::string_view name) {
    if (RangeSink* sink = range_sink()) sink->begin(kind, name, {});
  }
  /// `detail()` gives a text, and is called only with a sink.
  template <typename Detail>
  Range(RangeKind kind, std::string_view name, const Detail& detail) {
    if (RangeSink* sink = range_sink()) sink->begin(kind, name, std::string(detail()));
  }
  ~Range() {
    if (RangeSink* sink = range_sink()) sink->end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace riesz
