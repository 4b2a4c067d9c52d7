// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/nn/attention/attention.h"
#include "riesz/nn/module.h"
#include "riesz/partition/space.h"

namespace riesz::testing {

/// What is tried of attention beside its placements.
struct AttentionCase {
  bool causal = false;
  double dropped = 0;         ///< dropout's probability
  std::optional<Space> mask;  ///< where a mask lies
  bool boolean = false;       ///< whether it says what is seen, or is added
  std::optional<double> scale;
  double tolerance = 1e-12;
  std::int64_t offset = 0;
  std::optional<std::int64_t> window = std::nullopt;
  std::optional<Space> seen = std::nullopt;  ///< where it is said which keys are seen
};

std::string to_string(const AttentionCase& c);

/// Booleans of (T, S): true where position t + offset does not see s, causally and with a window.
at::Tensor hidden_causally(std::int64_t T, std::int64_t S, std::int64_t offset = 0,
                           std::optional<std::int64_t> window = std::nullopt);

/// A model that has but a dropout; while it lives, step 3 of training by seed 7 is under way.
class DropoutModel : public Module {
 public:
  explicit DropoutModel(double p);
  std::string describe() const override { return ""; }

  ContextScope scope{{.training = true, .seed = 7, .step = 3}};
  Dropout drop;
};

/// Its mask of (B, heads, T, S).
at::Tensor dropped_of(const std::vector<std::int64_t>& shape, double p);

/// Booleans of (B, S), which keys are seen: none of the first sequence, one that ends early, one that begins
/// late, and others with holes.
at::Tensor padded_keys(std::int64_t B, std::int64_t S);

/// softmax(scale·q·kᵀ + bias)·v per sequence and head of global tensors, rows that see nothing zero; `hidden`
/// of (T, S) and more dims before, `kept` of (B, heads, T, S).
at::Tensor attention_formula(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                             const at::Tensor& bias, const at::Tensor& hidden, const at::Tensor& kept);

/// Expects of attention from Q and K that the value and the gradients by q, k, v and an added mask are those
/// of the formula. Collective over the job.
void expect_attention(const Space& Q, const Space& K, const AttentionCase& c);

}  // namespace riesz::testing
