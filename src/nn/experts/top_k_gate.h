// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "riesz/nn/experts/dispatch.h"
#include "riesz/nn/module.h"

namespace riesz {

struct GateOptions {
  enum class Score {
    softmax,  ///< over all experts
    sigmoid   ///< of each expert for itself (DeepSeek-V3, 2412.19437)
  };
  enum class Drop {
    none,        ///< dropless: an expert takes all its tokens
    position,    ///< it takes first choices before second ones, then by position in the micro-batch
    probability  ///< it takes those of the greatest scores
  };
  enum class Balance {
    none,
    gshard,        ///< 1/E·Σ m·f, f of first choices (Lepikhin et al., 2006.16668)
    first_choice,  ///< E·Σ m·f, f of first choices (Switch: Fedus et al., 2101.03961)
    all_choices,   ///< E·Σ m·f, f of all k choices, divided by k
    over_gates     ///< none by itself: the model balances all its gates together (`GateBalance`)
  };

  std::int64_t k = 2;  ///< experts of a token
  Score score = Score::softmax;
  /// Divide a token's gate values by their sum over the choices that are kept?
  bool renormalise = true;
  double scale = 1;  ///< a factor of the gate values
  /// Standard deviation of the noise that training adds to the logits, for the choice alone.
  double noise = 0;
  Drop drop = Drop::none;
  bool drops_always = true;  ///< drop outside of training too (`Context::training`)?
  double capacity_factor = 1.25;
  std::int64_t least_capacity = 4;
  Balance balance = Balance::none;
  double balance_weight = 0.01;  ///< of the balance loss
  double z_weight = 0;           ///< of the mean of (log Σ exp(logits))² (Zoph et al., 2202.08906)
  /// Step by which `move_bias` moves the bias that balances without a loss (Wang et al., 2408.15664). 0:
  /// there is no bias. The bias is the untrained parameter "e_score_correction_bias".
  double bias_rate = 0;
};

/// How a gate chose in one micro-batch, over all its workers. The numbers are alike on all of them. They lie
/// on the logits' device, and the host does not wait for them.
struct GateStatistics {
  at::Tensor load;     ///< (E): each expert's share of all choices, before any is dropped
  at::Tensor dropped;  ///< the share of choices that are dropped
  at::Tensor entropy;  ///< mean over tokens of −Σ p·log p
};

/// Where each token goes.
struct Routing {
  Choices choices;     ///< of this worker's tokens, in their local order
  Vector gate_values;  ///< (…, k): the factor of each choice; 0 if it is dropped
  Vector loss;         ///< the sum of the auxiliary losses times their weights: a scalar, Replicated
  Vector probability;  ///< (E): m, Replicated; a constant unless the balance is `over_gates`
  Vector load;         ///< (E): `statistics.load`, Replicated, a constant
  GateStatistics statistics;
  /// By rank of the logits' partition: how many choices of each expert are kept. Filled for the ranks over
  /// which the tokens are sharded. Empty without a capacity: then the gate does not know them.
  std::vector<std::vector<std::int64_t>> counts;

  template <typename F>
  void each_vector(F&& f) {
    f(gate_values), f(loss), f(probability), f(load);
  }
};

/// A gate: from logits (…, E) it gives each token the k experts with the greatest scores, and their gate
/// values.
///
///     s = softmax(logits) or sigmoid(logits), in fp32 at least
///     e₁ … e_k: the experts of the greatest s + bias; of equal ones the one of the lower number
///     g_j = scale·s[e_j], divided by Σ s[e_i] over the choices kept; 0 if it is dropped
///
/// With `drop` an expert takes at most max(least_capacity, ⌈N/E·capacity_factor·k⌉) of the micro-batch's N
/// tokens, on all its workers together. The mean probability of an expert is m, where a probability is the
/// score over the sum of scores. The share of tokens that chose it is f. All averages are over the
/// micro-batch on all its workers, so numbers are the same at every layout. They are the same at every number
/// of micro-batches only without capacity and auxiliary losses.
///
/// Logits lie in any space whose last dim is whole, Sharded or Replicated on each axis. Cost, over the axes
/// that shard tokens: an AllReduce of 3E + 3 numbers. Drop by position exchanges k·E counts for each run of
/// consecutive tokens, of the worker with the most runs. Drop by probability gathers k scores and k choices
/// of every token. Backward moves nothing. The host reads the choices, so it waits for a device.
/// @throws Error naming option or space where they do not fit.
class TopKGate : public Layer<TopKGate> {
 public:
  /// `workers`: the partition of the logits. The bias is Replicated there.
  TopKGate(OwnerAndName place, const Partition& workers, std::int64_t experts,
           const GateOptions& options = {});

  Routing forward(const Vector& logits);

  /// How it chose in this step of training, over all micro-batches so far. It tells them apart by their
  /// `Context`, so one that runs again in backward counts once. The numbers do not depend on their order.
  /// std::nullopt where it had none, such as on another stage. Local.
  std::optional<GateStatistics> statistics_of(std::int64_t step) const;

  /// Moves the bias of each expert by `bias_rate`. It goes up where the expert was chosen less often than the
  /// mean since the last call, and down where more often. Call it after each optimizer step. Local.
  /// @pre the same calls on all workers
  void move_bias();
  bool draws() const override { return options_.noise > 0; }
  const GateOptions& options() const { return options_; }
  std::string describe() const override;

 private:
  /// Sums over a micro-batch's tokens.
  struct MicroBatch {
    at::Tensor sums;
    std::int64_t tokens = 0;
  };

  void keep(const MicroBatch& micro_batch);
  at::Tensor for_choice(const Vector& logits, const at::Tensor& rows, const at::Tensor& scores) const;

  std::int64_t experts_;
  GateOptions options_;
  std::optional<Parameter> bias_;
  at::Tensor counted_;  // choices since the bias moved, by expert
  std::int64_t step_ = -1;
  std::map<std::int64_t, MicroBatch> of_step_;  // by the first row
};

}  // namespace riesz
