// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// GPT-J, Llama and ViT for one process in torch's own operations, written from the published architectures,
// independent of Riesz.
#pragma once

#include <ATen/core/Tensor.h>

#include "plain_min_gpt.h"
#include "riesz/models/gpt_j.h"
#include "riesz/models/llama.h"
#include "riesz/models/vit.h"

namespace riesz::plain {

/// Token ids of (B, T) → logits of (B, T, V).
at::Tensor gpt_j(const models::GptJConfig& config, const Weights& weights, const at::Tensor& ids);
at::Tensor llama(const models::LlamaConfig& config, const Weights& weights, const at::Tensor& ids);
/// Images of (B, channels, rows, columns) → logits of (B, labels).
at::Tensor vit(const models::VitConfig& config, const Weights& weights, const at::Tensor& images);

}  // namespace riesz::plain
