// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace riesz {

class Cancellation;
class Strand;

/// A thread that continues the work of its maker: it computes, calls operators and waits. It begins with its
/// maker's state: whether gradients are recorded, autocast, the layer, the channel and the device's stream.
/// Other folders of src add their own state (`carry_to_threads`), such as the context of a model's call. It
/// has as many LibTorch threads as its maker, and shares its memory arena, so one reuses what the other
/// frees. (A bare std::thread computes on every core and has an arena of its own.)
///
/// It begins in no chain and defers no gradients: its body enters a `Chain` and opens `DeferredGradients` of
/// its own. A chain and deferred gradients are queues whose order must be the same on all workers, and two
/// threads would fill one in any order.
///
/// Messages are numbered in each channel. So threads that communicate at the same time need channels of their
/// own, by a `Chain` or a `ChannelScope`; or they take turns.
class Thread {
 public:
  /// @throws Error if the system gives none, as `start_thread` does.
  explicit Thread(std::function<void()> body);
  /// Waits for the end. An exception of the body that `join` has not rethrown ends the job. While an
  /// exception leaves the maker's scope, the thread may wait for messages that never come. So after a second
  /// its wait throws, and so do the waits of threads that it has started; only the first exception is
  /// reported.
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Waits for the end. @throws what the body threw, once; `LayerScope::left_by_exception` then says here
  /// which layer it left.
  void join();

 private:
  void wait_for_end();

  std::shared_ptr<Cancellation> cancellation_;
  std::shared_ptr<Strand> strand_;  // what a `Recorder` has of it
  std::exception_ptr thrown_;
  int exceptions_ = std::uncaught_exceptions();  // under way where it was made
  std::string layer_;
  std::thread thread_;  // last: it writes the others
};

/// A plain thread of the system, without any state of its maker. For pools of threads, and for threads that
/// call no operators. @throws Error if the system gives none, with what limits them.
std::thread start_thread(std::function<void()> body);

/// The state with which a `Thread` made now would begin. For pools of threads that run one body after
/// another.
class ThreadStart {
 public:
  ThreadStart();
  ~ThreadStart();
  ThreadStart(ThreadStart&&) noexcept;

  /// Runs the body with that state, on a thread that has none, and takes the state away afterwards, also if
  /// the body throws. The thread keeps the memory arena and its number of LibTorch threads.
  /// @throws what the body does.
  void run(const std::function<void()>& body) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace riesz
