// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "riesz/nn/offload/activation_place.h"

namespace riesz::detail {

class BlockCall;
class SavedMemory;

/// What all calls of a model's blocks share.
struct Offloading {
  std::shared_ptr<ActivationPlace> place;
  std::size_t depth = 2;
  std::unordered_set<std::string> blocks;  ///< paths

  std::recursive_mutex mutex;  ///< of all below, and of the calls; autograd may have several threads
  std::unordered_map<const c10::StorageImpl*, std::weak_ptr<SavedMemory>> here;
  std::deque<std::shared_ptr<BlockCall>> last;  ///< calls that have ended, `depth` at most between blocks
  struct Tape {
    std::weak_ptr<const void> life;
    std::shared_ptr<BlockCall> last;
  };
  std::map<std::uint64_t, Tape> tapes;  ///< of chains

  /// A block begins: the blocks before it are written, and the first of them leave memory.
  void make_room();
};

/// Memory that nodes of blocks save: here or in the place. A lock of the mutex is held in each call.
class SavedMemory {
 public:
  SavedMemory(std::shared_ptr<Offloading> all, at::Storage memory);
  ~SavedMemory();
  SavedMemory(const SavedMemory&) = delete;
  SavedMemory& operator=(const SavedMemory&) = delete;

  /// To the place, unless others hold it, which makes that useless, or it has been brought back.
  void put();
  void let_go() const;
  void expect() const;
  const at::Storage& bring();

 private:
  void forget();

  std::shared_ptr<Offloading> all_;
  at::Storage memory_;  // where it is here
  std::unique_ptr<PlacedMemory> placed_;
  bool brought_ = false;
};

/// A call of a block.
class BlockCall {
 public:
  explicit BlockCall(std::shared_ptr<Offloading> all) : all_(std::move(all)) {}

  /// The memory of a tensor that the block saves.
  std::shared_ptr<SavedMemory> save(const at::Storage& memory);
  /// The call has ended. If it saved some, it is the last one of its chain.
  void end(const std::shared_ptr<BlockCall>& self);

  void put();
  void let_go();
  /// Backward has come to it.
  void reach();

  Offloading& all() const { return *all_; }

 private:
  void expect() const;

  std::shared_ptr<Offloading> all_;
  std::vector<std::weak_ptr<SavedMemory>> saved_;
  std::unordered_set<const SavedMemory*> known_;  // until it ends
  std::shared_ptr<BlockCall> before_;             // in its chain
  bool reached_ = false;
};

}  // namespace riesz::detail
