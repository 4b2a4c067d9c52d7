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

#include "riesz/comm/channel.h"
#include "riesz/partition/partition.h"

namespace riesz {

/// A chain: the record of the calls of one loss that communicate, in their order. Every communicating
/// operator takes the chain's token, a tensor without elements, and gives the next one. So backward reaches
/// every communication on every worker, in exactly the reverse order, also on workers that have no data or
/// ignore a result. Make one for each loss; in a pipeline, for each stage and micro-batch. The tape of a
/// chain is all that it has recorded since it was made or started anew. A tape with its backward is a pass,
/// unless the chain is made in a pass with others; `Zero` counts passes. Calls without gradient do not touch
/// the chain.
///
///     Chain chain;
///     backward(loss(model(x)));
///
/// A thread's calls belong to the chain that it entered last and has not left. A chain can be left and
/// entered again, in any order with others and from another thread, and lives on while nobody is in it. So
/// several micro-batches can take turns. While a thread is in a chain, its messages, with gradient or
/// without, are in the chain's channel, and so are backward's. Chains of different channels may take turns
/// differently on every worker; chains of one channel take turns in one order on all. One exception: the
/// workers of a host pass on to each other what comes from another host (`HostCopy`). So they make the calls
/// that use a `HostCopy` in the same order, also in different channels.
class Chain {
 public:
  /// Makes a chain, which this thread enters. `channel` is the same on all workers that take part. By default
  /// it is this thread's: 0 outside of all chains and channel scopes.
  explicit Chain(int channel = current_channel());
  /// Makes a chain of a pass (`new_pass`) that has several, such as a micro-batch that goes through several
  /// stages. All of them are recorded before one goes backward. Whoever made the pass holds it until the last
  /// of them has gone backward.
  Chain(int channel, const std::shared_ptr<const std::uint64_t>& pass);
  /// Leaves it. Ends the job if another thread is still in it.
  ~Chain();
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  /// The chain that this thread entered last of those that it has not left, or nullptr.
  static Chain* current();

  /// This thread enters the chain, until it leaves. Backward's order holds across threads.
  /// @throws Error if this thread or another is in it.
  void enter();
  /// @throws Error unless this thread is in it.
  void leave();

  /// A scope: enters a chain and, at its end, leaves it.
  class Scope {
   public:
    explicit Scope(Chain& chain) : chain_(chain) { chain.enter(); }
    ~Scope();  ///< unless this thread has left it already
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Chain& chain_;
  };

  int channel() const { return channel_; }

  /// The token that the next operator takes; without elements, on `device` if it is the first.
  at::Tensor token(at::Device device = at::kCPU);
  /// The token that an operator gives.
  void advance(at::Tensor token);
  /// The first token: the gradient that reaches it has passed every operator of the chain.
  at::Tensor head(at::Device device = at::kCPU);
  /// Declares that backward of the tape also reaches these workers, even those that compute nothing. They are
  /// the workers of a placed model that is called in the chain. `Module` calls it on all of them.
  void reaches(const Partition& workers);
  /// The partitions given to `reaches`.
  const std::vector<Partition>& reached() const { return reached_; }
  /// Starts anew: drops the tape, and begins another.
  void restart();
  /// The number of this tape. No two tapes of this process have the same.
  std::uint64_t tape() const { return *tape_; }
  /// An object that lives as long as the tape.
  std::shared_ptr<const void> lifetime() const { return tape_; }
  /// The identity of a pass that is none of this process's others. It ends when nobody holds it.
  static std::shared_ptr<const std::uint64_t> new_pass();
  /// The identity of the pass that this tape belongs to: the one it was made in, or that of the chain in
  /// whose backward it was made, to recompute a region. Any other chain is a pass of its own.
  std::shared_ptr<const std::uint64_t> pass() const;
  /// Was it made in the backward of a chain of this pass, to recompute a region?
  bool recomputes() const { return recomputes_ && !pass_.expired(); }

  /// Registers `passed`, which backward calls when it reaches this point: after all that was recorded later
  /// on `device`, before anything earlier. It is called in autograd's thread of that device, without
  /// recording gradients.
  void on_backward(std::function<void()> passed, at::Device device = at::kCPU);
  /// Registers `begun`, which backward calls first of all. It replaces what the same owner gave before.
  void before_backward(const void* owner, std::function<void()> begun);
  /// `backward` and `pullback` call `begin_backward` when backward begins, and `end_backward` when it has
  /// ended. `restart` ends it too.
  void begin_backward();
  void end_backward() { in_backward_ = false; }
  /// True between the two.
  bool in_backward() const { return in_backward_; }

 private:
  void unlink();

  int channel_;
  std::atomic<const void*> thread_ = nullptr;  // the one that is in it
  Chain* outer_ = nullptr;                     // the chain that thread was in before
  int outer_channel_ = 0;                      // the channel it was in before
  std::uint64_t numbered_ = 0;                 // autograd's nodes so far
  std::uint64_t entered_at_ = 0;
  std::shared_ptr<const std::uint64_t> tape_;
  std::weak_ptr<const std::uint64_t> pass_;  // where it is not the tape's own
  bool recomputes_ = false;
  bool in_backward_ = false;
  std::vector<Partition> reached_;
  std::vector<std::pair<const void*, std::function<void()>>> begun_;  // by owner
  at::Tensor head_;
  at::Tensor token_;
};

}  // namespace riesz
