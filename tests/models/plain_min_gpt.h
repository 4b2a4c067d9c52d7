// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "riesz/models/min_gpt.h"

namespace riesz::plain {

/// Weights by Hugging Face's names, in the published shapes; leaves that require gradients.
using Weights = std::map<std::string, at::Tensor>;

/// What dropout at this place does to x; nothing where the function is empty.
using Drop = std::function<at::Tensor(const std::string& place, const at::Tensor& x)>;

/// minGPT for one process in torch's own operations, independent of Riesz: token ids of (B, T) → logits of
/// (B, T, V). With a compute type matrices are multiplied in it, and attention takes it, while the rest is of
/// the weights' type: torch's autocast, written out.
at::Tensor min_gpt(const models::MinGptConfig& config, const Weights& weights, const at::Tensor& ids,
                   const Drop& drop = {});

/// The mean of −log softmax(logits)[target] over the targets that are not −1.
at::Tensor cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

struct AdamWState {
  Weights first;
  Weights second;
  std::int64_t steps = 0;
};

/// One step of AdamW, by its formula; `decays` says which weights do. Takes the gradients away.
void adamw(Weights& weights, AdamWState& state, double learning_rate, double epsilon, double weight_decay,
           const std::function<bool(const std::string& name)>& decays);

}  // namespace riesz::plain
