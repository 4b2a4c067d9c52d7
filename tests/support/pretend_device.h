// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace riesz::testing {

/// A device for tests on machines that have none but the CPU: "pretend:0", of LibTorch's type PrivateUse1. It
/// is as late as a GPU. What goes wrong there goes wrong here: the result is a wrong number, not luck.
///
/// - **Streams.** Each has a thread and a queue. An operation returns when it is queued. The streams hold
/// their
///   work back, as `Lateness` says. c10::Event and c10::StreamGuard order them.
/// - **Memory.** A freed block belongs to its stream again at once, and is filled with NaN in that stream's
///   order. Another stream that uses it needs `record_stream`. Queued work holds addresses, never tensors.
///   The memory cannot be read where a tensor's data_ptr() says it is: code that does so ends in a
///   segmentation fault.
/// - **Copies.** Those between pinned memory and the device return at once where `non_blocking` is true. All
///   others from or to the host wait. A pinned block that is freed is used again after its copies.
/// - **Numbers.** They are the CPU's, bit for bit, save where an operation chooses another formula for
/// another
///   device. Random numbers are drawn from a generator of its own.
/// - **Gradients** run in a thread of the device's own, as those of any device do.
///
/// As on a real device, an operation on its tensors and on those of the CPU throws a c10::Error that names
/// both, unless the latter have no dims. An error in queued work is thrown by the next call that waits.
at::Device pretend_device();

/// When the streams run what is queued.
enum class Lateness {
  soonest,  // at once, beside the program
  random,   // held back, a random number of operations long
  latest,   // not before somebody waits for it, or asks whether it is done
};

/// Sets the lateness while it lives. Otherwise it is what the environment variable RIESZ_PRETEND_LATENESS
/// names, random by default.
class LatenessScope {
 public:
  explicit LatenessScope(Lateness lateness);
  ~LatenessScope();
  LatenessScope(const LatenessScope&) = delete;
  LatenessScope& operator=(const LatenessScope&) = delete;

 private:
  Lateness before_;
};

/// The environment that runs the streams once more as they run now: "RIESZ_PRETEND_LATENESS=random
/// RIESZ_PRETEND_SEED=17". Without a seed there, each job draws another.
std::string lateness_text();

/// How often calls waited for the device since the last reset, by the name of the operator or of the wait.
std::map<std::string, std::int64_t> host_reads();
void reset_host_reads();

/// Notes the calls, of any thread, that wait for the device while it lives. Only an event that was recorded
/// before may be waited for, such as that of a value of the step before.
class HostReadsHere {
 public:
  HostReadsHere() : HostReadsHere(false) {}
  ~HostReadsHere();
  HostReadsHere(const HostReadsHere&) = delete;
  HostReadsHere& operator=(const HostReadsHere&) = delete;

  /// By the name of the operator or of the wait.
  std::map<std::string, std::int64_t> seen() const;
  /// The waits by polling: how many events of this scope the host has queried before they were reached. Each
  /// counts once, however often it is queried. They are no reads: no value is, and `NoHostReads` lets them
  /// be.
  std::int64_t polled() const;

  /// Of the implementation.
  struct State {
    std::map<std::int64_t, std::uint64_t> queued;  // before, by stream
    bool throws;
    std::map<std::string, std::int64_t> seen = {};
    std::set<std::pair<std::int64_t, std::uint64_t>> polled = {};  // by stream and place in its queue
  };

 protected:
  explicit HostReadsHere(bool throws);

 private:
  State state_;
};

/// The same, but such a call throws a c10::Error that names it.
class NoHostReads : public HostReadsHere {
 public:
  NoHostReads() : HostReadsHere(true) {}
};

/// The current stream does nothing for so long, as if it computed.
void sleep_there(double milliseconds);

/// Waits for all that is queued. It counts as no host read. @throws what went wrong in queued work.
void finish_pretend_work();

/// Lets the device have so many bytes of memory, after which operations throw c10::OutOfMemoryError; 0: as
/// many as the host. Returns the limit before.
std::int64_t limit_pretend_memory(std::int64_t bytes);

}  // namespace riesz::testing
