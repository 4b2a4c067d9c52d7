// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <utility>

#include "riesz/partition/vector.h"

namespace riesz {

/// A model's result for a batch: its logits, and a loss of its own if it has one, such as the loss that
/// balances experts. Training adds it to the loss of the logits.
struct Predictions {
  Predictions(Vector y) : logits(std::move(y)) {}
  Predictions(Vector y, Vector own) : logits(std::move(y)), loss(std::move(own)) {}

  Vector logits;
  std::optional<Vector> loss;  ///< a scalar, Replicated: a mean over the batch, not a sum

  template <typename F>
  void each_vector(F&& f) {
    f(logits), f(loss);
  }
};

}  // namespace riesz
