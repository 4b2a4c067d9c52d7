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

/// A thread that takes part in what the one that starts it does: it computes, calls operators and waits. It
/// begins with that thread's state: gradients recorded or not, autocast, the layer, the stream of messages,
/// and what other rooms keep for a thread (`carry_to_threads`), such as the context of a model's call; with
/// as many threads of LibTorch; and it allocates where that one does, so that what one frees the other uses
/// again. (A bare std::thread computes on every core, and what it frees no other uses.)
///
/// It begins in no chain, and puts no gradients off: its body enters a `Chain`, and opens `DeferredGradients`
/// of its own. Two threads would put gradients into one queue in any order, and workers must have one order.
///
/// Messages are numbered in each stream. So two threads that communicate at once are each in a stream of
/// their own, by a `Chain` or a `StreamScope`; or they take turns.
class Thread {
 public:
  /// @throws Error if the system gives none, as `start_thread` does.
  explicit Thread(std::function<void()> body);
  /// Waits for the end. What was thrown and not fetched by `join` ends the job. Where it goes because an
  /// exception leaves its maker's scope, what the thread waits for may never come: if it waits for a second
  /// more, its wait throws, unseen, and so in threads that it has started. The first exception is the one
  /// said.
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Waits for the end. @throws what the body threw, once; `LayerScope::left_by_exception` then says here
  /// which layer it left.
  void join();

 private:
  void wait_for_end();

  std::shared_ptr<Cancellation> cancellation_;
  std::exception_ptr thrown_;
  int exceptions_ = std::uncaught_exceptions();  // under way where it was made
  std::string layer_;
  std::thread thread_;  // last: it writes the others
};

/// A plain thread of the system, which begins with nothing of the one that starts it. For who keeps threads,
/// and for those that take no part. @throws Error if the system gives none, with what limits them.
std::thread start_thread(std::function<void()> body);

/// What a `Thread` made now would begin with. For who keeps threads, and has them run one body after another.
class ThreadStart {
 public:
  ThreadStart();
  ~ThreadStart();
  ThreadStart(ThreadStart&&) noexcept;

  /// Runs the body with it, on a thread that is in nothing, as it began; and leaves it so, unless the body
  /// throws. @throws what the body does.
  void run(const std::function<void()>& body) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace riesz
