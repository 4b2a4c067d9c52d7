// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "riesz/comm/stream.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// The order of communication of one loss. Every communicating operator takes the chain's zero-volume token
/// and gives it the next, so backward reaches every communication on every worker, in exactly the reverse
/// order, also on a worker that has no data or ignores a result. One per loss (per stage and micro-batch of a
/// pipeline); for `Zero` each is a pass of the step. Calls without gradient do not touch it.
///
///     Chain chain;
///     backward(loss(model(x)));
///
/// What a thread calls is in the chain that it entered last and has not left. A chain can be left and entered
/// again, in any order with others and from another thread, and be alive while nobody is in it: several
/// micro-batches take turns so. While a thread is in it, what it sends, with gradient or without, is in the
/// chain's stream of messages, and so is what backward sends. Chains of different streams may take turns
/// differently on every worker; those of one stream in one order on all.
class Chain {
 public:
  /// This thread enters it. `stream`: its number, alike on all workers that take part; by default the one
  /// that the thread is in, 0 outside of all chains.
  explicit Chain(int stream = current_stream());
  /// Leaves it. Where another thread is in it still, the job ends.
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// The chain that this thread entered last of those that it has not left, or nullptr.
  static Chain* current();

  /// From now on this thread is in it, until it leaves. Backward's order holds across threads.
  /// @throws Error if this thread or another is in it.
  void enter();
  /// @throws Error unless this thread is in it.
  void leave();

  /// Enters a chain and, at its end, leaves it.
  class Scope {
   public:
    explicit Scope(Chain& chain) : chain_(chain) { chain.enter(); }
    ~Scope();  ///< unless this thread has left it already
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Chain& chain_;
  };

  int stream() const { return stream_; }

  /// The token that the next operator takes; zero-volume, on `device` if it is the first.
  at::Tensor token(at::Device device = at::kCPU);
  /// The token that an operator gives.
  void advance(at::Tensor token);
  /// The first token, a leaf: the gradient that reaches it has passed every operator of the chain.
  at::Tensor head(at::Device device = at::kCPU);
  /// What is being recorded goes back on these workers too, also where it computes nothing: those of a placed
  /// model that is called in it, on all of them alike. `Module` says so.
  void reaches(const Partition& workers);
  /// Who was said.
  const std::vector<Partition>& reached() const { return reached_; }
  /// Starts anew: what was recorded is let go.
  void restart();
  /// A number of what is being recorded: another in each chain, and after each restart.
  std::uint64_t recording() const { return *recording_; }
  /// Lives as long as that.
  std::shared_ptr<const void> life() const { return recording_; }
  /// Of a chain made during the backward of another, to compute a region again: that one's recording. Else
  /// its own.
  std::shared_ptr<const std::uint64_t> pass() const;

  /// Has backward call `passed` here: when all that was recorded after on `device` is done with, and nothing
  /// before is begun; autograd has a thread for each device, and this is called in that one's. Called without
  /// gradients being recorded.
  void on_backward(std::function<void()> passed, at::Device device = at::kCPU);
  /// Has backward call `begun` first of all, in place of what the same owner gave before.
  void before_backward(const void* owner, std::function<void()> begun);
  /// Backward begins, and has ended; a restart ends it too. `backward` and `pullback` call them.
  void begin_backward();
  void end_backward() { goes_back_ = false; }
  /// Is it in between?
  bool goes_back() const { return goes_back_; }

 private:
  void unlink();

  int stream_;
  std::atomic<const void*> thread_ = nullptr;  // the one that is in it
  Chain* outer_ = nullptr;                     // the chain that thread was in before
  int outer_stream_ = 0;                       // the stream it was in before
  std::uint64_t numbered_ = 0;                 // autograd's nodes so far
  std::uint64_t entered_at_ = 0;
  std::shared_ptr<const std::uint64_t> recording_;
  std::weak_ptr<const std::uint64_t> around_;  // the pass in whose backward this was made
  bool goes_back_ = false;
  std::vector<Partition> reached_;
  std::vector<std::pair<const void*, std::function<void()>>> begun_;  // by owner
  at::Tensor head_;
  at::Tensor token_;
};

}  // namespace riesz
