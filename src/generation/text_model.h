// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

#include "riesz/nn/model_cache.h"
#include "riesz/nn/module.h"

namespace riesz {

/// A causal model, at any layout, as `generate` and `evaluate_text` need it. `models::text_model` makes one
/// from each causal model of this library.
struct TextModel {
  Module& module;
  Space tokens;                 ///< of ids, any (B, T)
  Space targets;                ///< of the targets that logits are compared with
  std::int64_t context = 0;     ///< the longest sequence
  std::int64_t vocabulary = 0;  ///< tokens; there may be more logits, which belong to no token
  /// Token ids (B, T) → logits (B, T, V), each of the next token.
  std::function<Vector(const Vector& ids)> logits;
  /// Token ids (B, T), which follow those in the cache → logits (B, 1, V) of the token behind the last.
  std::function<Vector(const Vector& ids, ModelCache& cache)> next;
};

}  // namespace riesz
