// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/nn/experts/top_k_gate.h"
#include "riesz/partition/vector.h"

namespace riesz {

/// The balance of all gates of a model together, as Hugging Face's Mixtral and Qwen2-MoE have it. Over the
/// tokens of all gates, with experts 0 … E − 1,
///
///     loss = E·Σ m·f        m: the mean probability of an expert; f: the share of tokens that chose it
///
/// where f counts each of a token's k choices, so Σ f = k. It is not the sum of a loss for each gate. A model
/// sums what its gates find (`GateOptions::Balance::over_gates`), and carries it with the stream from block
/// to block:
///
///     GateBalance balance = GateBalance::none(experts, x);
///     balance = balance + gate(logits);                           // in each block
///     const Vector loss = balance.loss(gates, k);
///
/// Local: the gates have summed over workers.
struct GateBalance {
  Vector probability, load;  ///< (E): sums over the gates so far, Replicated

  /// The balance before any gate, on x's workers and its device.
  static GateBalance none(std::int64_t experts, const Vector& x);
  /// With one more gate's. @throws Error naming both spaces unless it has as many experts on these workers.
  GateBalance operator+(const Routing& routing) const;
  /// The loss of so many gates, each of k choices: a scalar, Replicated.
  Vector loss(std::int64_t gates, std::int64_t k) const;

  template <typename F>
  void each_vector(F&& f) {
    f(probability), f(load);
  }
};

}  // namespace riesz
