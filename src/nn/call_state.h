// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "riesz/nn/recompute/saved_tensors.h"

namespace riesz {

class ContextScope;
class Crossing;
class ModelCache;
class OffloadScope;
class RegionScope;
class Stages;

namespace detail {

class InRegion;
class ResultWatch;
class SaveWatch;
struct DeferredQueue;

/// What surrounds the calls of modules on one thread: the innermost scope of each kind, or nothing. Scopes
/// set it when they open, and what was there before when they close.
struct CallState {
  const ContextScope* context = nullptr;
  ModelCache* cache = nullptr;
  Crossing* crossing = nullptr;
  const Stages* stages = nullptr;  ///< of the model that it is in a stage of
  int stage = -1;
  std::uint64_t stages_entered = 0;
  RegionScope* regions = nullptr;
  const InRegion* region = nullptr;
  SavedTensors::Scope* saving = nullptr;
  OffloadScope* offload = nullptr;  ///< of what blocks save
  SaveWatch* save_watch = nullptr;
  ResultWatch* result_watch = nullptr;
  std::shared_ptr<DeferredQueue> deferred;  ///< gradients that are put off
  int calls = 0;                            ///< under way
  std::shared_ptr<const void> outermost_call;
};

/// This thread's.
CallState& call_state();

}  // namespace detail
}  // namespace riesz
