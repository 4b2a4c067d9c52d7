// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// GPT-J, Llama, Mixtral, Qwen2-MoE, GPT-2 with experts and ViT for one process in torch's own operations,
// written from the published architectures, independent of Riesz.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "plain_min_gpt.h"
#include "riesz/models/gpt2_moe.h"
#include "riesz/models/gpt_j.h"
#include "riesz/models/llama.h"
#include "riesz/models/mixtral.h"
#include "riesz/models/qwen2_moe.h"
#include "riesz/models/vit.h"

namespace riesz::plain {

/// Logits, and a model's own loss if it has one.
struct Predictions {
  Predictions(at::Tensor y, at::Tensor own = {}) : logits(std::move(y)), loss(std::move(own)) {}
  at::Tensor logits, loss;
};

/// Token ids of (B, T) → logits of (B, T, V).
at::Tensor gpt_j(const models::GptJConfig& config, const Weights& weights, const at::Tensor& ids);
at::Tensor llama(const models::LlamaConfig& config, const Weights& weights, const at::Tensor& ids);
/// The loss is that of `load_balancing_loss_func` in transformers, times its coefficient.
Predictions mixtral(const models::MixtralConfig& config, const Weights& weights, const at::Tensor& ids);
Predictions qwen2_moe(const models::Qwen2MoeConfig& config, const Weights& weights, const at::Tensor& ids);
/// With the mean of (log Σ exp(logits))² over all tokens and layers, times its weight, as
/// `router_z_loss_func`.
Predictions gpt2_moe(const models::Gpt2MoeConfig& config, const Weights& weights, const at::Tensor& ids);
/// Images of (B, channels, rows, columns) → logits of (B, labels).
at::Tensor vit(const models::VitConfig& config, const Weights& weights, const at::Tensor& images);

}  // namespace riesz::plain
