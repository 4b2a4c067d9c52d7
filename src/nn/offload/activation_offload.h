// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <memory>

#include "riesz/nn/module.h"
#include "riesz/nn/offload/activation_place.h"

namespace riesz {

namespace detail {

struct Offloading;
class BlockCall;

}  // namespace detail

/// Activation offload: what the blocks of a model save for backward lies in a place between the two, such as
/// a disk.
///
///     ActivationOffload offload(model, activations_on_disk("/scratch"));
///     …
///     {
///       const OffloadScope scope(offload);
///       loss = cross_entropy(model(ids), targets).mean();
///     }
///     backward(loss);  // the same bits as without
///
/// Blocks are the parts of a `Repeated`, the outermost. When a block begins, what the block before it has
/// saved is begun to be written, and what the block `depth` + 1 before it has saved leaves memory. When
/// backward comes to a block, the `depth` blocks before it are begun to be read. So in forward and in
/// backward at most `depth` + 1 blocks are in memory. With b_1 … b_L the bytes that L blocks save, a pass
/// writes b_1 + … + b_(L−1) and reads b_1 + … + b_(L−1−depth).
///
/// Memory that several operations or blocks save is written once, as a whole. Leaves, such as parameters,
/// stay in memory. So does memory that others hold too, such as a weight's copy in another type, or that is
/// lent, such as gathered values. So does what is smaller than 4096 bytes. A block that runs again
/// (`recompute`) saves its kept inputs. Without gradients, and outside of blocks, nothing is done.
///
/// Several micro-batches may be under way. One thread at a time runs calls and backward of what was made with
/// one offload.
class ActivationOffload {
 public:
  /// @throws Error where the model has no blocks, or `depth` is 0.
  ActivationOffload(const Module& model, std::shared_ptr<ActivationPlace> place, std::size_t depth = 2);
  ~ActivationOffload();
  ActivationOffload(const ActivationOffload&) = delete;
  ActivationOffload& operator=(const ActivationOffload&) = delete;

  ActivationPlace& place() const;

 private:
  friend class OffloadScope;
  std::shared_ptr<detail::Offloading> all_;
};

/// While it lives, blocks of the offload's model that this thread calls, and threads that it makes then, save
/// as the offload says. Scopes nest; the innermost decides.
class OffloadScope {
 public:
  explicit OffloadScope(const ActivationOffload& offload) : OffloadScope(offload.all_) {}
  explicit OffloadScope(std::shared_ptr<detail::Offloading> all);
  ~OffloadScope();
  OffloadScope(const OffloadScope&) = delete;
  OffloadScope& operator=(const OffloadScope&) = delete;

  /// This thread's innermost, or nullptr.
  static OffloadScope* current();
  const std::shared_ptr<detail::Offloading>& all() const { return all_; }
  /// The block whose call is under way, or nullptr.
  const std::shared_ptr<detail::BlockCall>& block() const { return block_; }

  /// A module's call begins, or has ended: `CallScope` says so.
  void begin(const std::string& path);
  void end() noexcept;

 private:
  std::shared_ptr<detail::Offloading> all_;
  std::shared_ptr<detail::BlockCall> block_;
  int inside_ = 0;  // calls of modules in the block that are under way, with the block's own
  OffloadScope* outer_;
};

}  // namespace riesz
