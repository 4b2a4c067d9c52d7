// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <utility>

#include "riesz/partition/vector.h"

namespace riesz {

/// How many targets or elements a loss counts. Targets on a device are counted there.
class LossCount {
 public:
  LossCount(std::int64_t number) : number_(number) {}
  /// `there`: the number as a tensor of int64 without dims, on a device.
  explicit LossCount(at::Tensor there) : there_(std::move(there)) {}

  /// The number. Waits for the device, where it is counted on one.
  operator std::int64_t() const;
  /// x/count, and x of none. Waits for nothing.
  Vector divide(const Vector& x) const;

 private:
  std::int64_t number_ = 0;
  at::Tensor there_;  // defined if it is counted there
};

/// A loss: a sum over the targets or elements of the global batch, and their number. The mean is sum/count at
/// every layout; never divide by ranks.
struct Loss {
  Vector sum;  ///< a scalar, Replicated on every axis
  LossCount count;

  /// sum/count; 0 of none, with gradients of 0.
  Vector mean() const { return count.divide(sum); }
};

struct CrossEntropyOptions {
  std::int64_t ignore = -1;  ///< targets that are not counted; torch's ignore_index is -100
  /// ε in [0, 1]: the wanted distribution is (1 − ε)·target + ε/V (Szegedy et al., 1512.00567).
  double smoothing = 0;
  /// c ≥ 0: adds c·(log Z)² to each counted row, Z = Σ exp(logits) (Chowdhery et al., 2204.02311).
  double z_loss = 0;
};

/// Over the rows whose target is not `ignore`,
///
///     Σ log Z − (1 − ε)·logits[target] − (ε/V)·Σ_v logits[v] + c·(log Z)²        Z = Σ_v exp(logits[v])
///
/// which without options is Σ −log softmax(logits)[target]. Logits are (…, V), Sharded in any way, also on V,
/// or Replicated. Targets, int64, lie in the space of the logits without the last dim. Computed in fp32 at
/// least. The mean is torch's cross_entropy with label_smoothing and ignore_index. Saved for backward: the
/// logits as given and a number a row. Backward writes the gradient over the logits if nobody else can reach
/// their memory and the graph is not kept; else it makes a tensor. Cost, with n rows on a
/// worker: over the axes that shard V, an AllMax of n and an AllReduce of 2n elements, whatever the options.
/// Over the axes that shard rows, an AllReduce of two elements for the count, then one of one element for the
/// sum. Backward moves nothing.
/// @throws Error naming both spaces where they do not fit. Also naming the axis or dim on which the logits
/// are Partial or Copied, or the option that is out of range. Also, on every worker alike, naming a target
/// outside the vocabulary. Of targets on a device that is a late check (`check_later`), and the loss is NaN.
Loss cross_entropy(const Vector& logits, const Vector& targets, const CrossEntropyOptions& options = {});

// Sums over all elements of x and y, two vectors of one space, in one type, fp32 at least; counted are all
// elements. Differentiable by both. Cost: an AllReduce of one element over the axes that shard them; backward
// moves nothing.
// @throws Error naming both spaces unless they are one; the axis or dim on which they are Partial or Copied.

/// Σ |x − y|. The mean is torch's L1Loss.
Loss l1_loss(const Vector& x, const Vector& y);

/// Σ (x − y)². The mean is torch's MSELoss.
Loss mse_loss(const Vector& x, const Vector& y);

/// Σ −(y·log p + (1 − y)·log(1 − p)), with logarithms of at least −100, of probabilities p and targets y, all
/// between 0 and 1. The mean is torch's BCELoss. Costs also an AllMax of two elements over the axes that
/// shard p. @throws Error on every worker alike, naming the p outside [0, 1]. On a device that is a late
/// check
/// (`check_later`), and the loss is NaN.
Loss bce_loss(const Vector& p, const Vector& y);

/// The same of p = 1/(1 + exp(−x)), which keeps the digits of large |x|. The mean is torch's
/// BCEWithLogitsLoss.
Loss bce_with_logits_loss(const Vector& x, const Vector& y);

/// Σ y·(log y − x), of log-probabilities x and probabilities y; y = 0 adds nothing. With `log_target` y are
/// logarithms too: Σ exp(y)·(y − x). The mean over all elements is torch's KLDivLoss; the divergence is the
/// sum divided by the number of distributions.
Loss kl_div_loss(const Vector& x, const Vector& y, bool log_target = false);

struct PoissonNllOptions {
  bool log_input = true;  ///< x is the logarithm of the rate, else the rate
  bool full = false;      ///< add log y! by Stirling's formula, where y > 1
  double epsilon = 1e-8;  ///< added to a rate whose logarithm is taken
};

/// The negative log-likelihood of counts y under Poisson: Σ exp(x) − y·x, or with log_input = false Σ x −
/// y·log(x + ε). The mean is torch's PoissonNLLLoss.
Loss poisson_nll_loss(const Vector& x, const Vector& y, const PoissonNllOptions& options = {});

}  // namespace riesz
