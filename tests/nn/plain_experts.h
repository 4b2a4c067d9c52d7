// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
//
// A gate and its experts for one process, in torch's own operations on whole tensors, written from the
// papers, independent of Riesz.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace riesz::plain {

struct Gate {
  std::int64_t k = 2;
  bool sigmoid = false;
  bool renormalise = true;
  double scale = 1;
  std::string drop = "none";     ///< "position" or "probability"
  std::int64_t capacity = 0;     ///< of an expert, with drop
  std::string balance = "none";  ///< "gshard", "first" or "all"
  double balance_weight = 0;
  double z_weight = 0;
  at::Tensor noise;  ///< (N, E), added to the logits for the choice
  at::Tensor bias;   ///< (E), added to the scores for the choice
};

struct Gated {
  std::vector<std::vector<std::int64_t>> choices;  ///< by token; −1 where dropped
  at::Tensor gate_values;                          ///< (N, k)
  at::Tensor loss;
  at::Tensor load;
  double dropped = 0;
  double entropy = 0;
};

/// Of logits (N, E) of one micro-batch.
Gated gated(const Gate& gate, const at::Tensor& logits);

/// Weights by expert: gate and up (F, C), down (C, F); biases (F) and (C), or undefined.
struct Expert {
  at::Tensor gate, up, down, up_bias = {}, down_bias = {};
};

/// Tokens (N, C) → (N, C): Σ g·down(silu(gate x)·up x), token by token; without a gate down(silu(up x)).
/// Biases are added to what up and down give.
at::Tensor experts(const std::vector<Expert>& experts, const at::Tensor& tokens, const Gated& routing);

}  // namespace riesz::plain
