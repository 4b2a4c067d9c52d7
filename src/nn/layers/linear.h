// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/layers/activation.h"
#include "riesz/nn/module.h"

namespace riesz {

struct LinearOptions {
  Initial initial = Initial::normal(0.02);
  bool bias = true;
  /// True: y stays Partial, so several branches share one sum: to_space(a(x) + b(z),
  /// spaces().stream("btc")). With a compute type, `result_type` sets the type in which terms are added.
  bool terms = false;
  /// Another module's weight (tied weights), wherever it is stored, or nullptr. That module owns and names
  /// it; its gradient is the sum over both uses. On another stage it is lent (`Parameter::lent`).
  const Parameter* weight = nullptr;
  /// The shapes published in checkpoints; the layer's weight and bias are views of them. Unless given, the
  /// joined shape (by letters) or the space's (by spaces).
  std::vector<std::int64_t> weight_shape = {};
  std::vector<std::int64_t> bias_shape = {};
  /// The contraction's options: panels, what is kept, the cheapest plan, the compute type.
  ContractionOptions contraction = {};
};

/// A space for the weight between X and Y, its dims in the order of the spec's middle indices. On each axis
/// it is Sharded on the index that Y shards there, if the weight has it; else on the one that X shards there;
/// else Replicated. This is the storage of Megatron's column, row and sequence parallelism. Give `Linear` a
/// space for other placements.
/// @throws Error unless X and Y have the dims that the spec gives them.
Space weight_between(const std::string& spec, const Space& X, const Space& Y);

/// A linear layer: y = Σ x·w + b, by a spec such as "bti,io->bto", from X to Y. It is the contraction of x
/// and w (`Contraction` says what moves) plus a bias. The parameters are "weight", which decays, and "bias",
/// which does not. The bias has the indices that w and y share. Dims of X and Y that w lacks may be of any
/// extent. Cost: that of the contraction, which prints it. The bias's gradient is summed over the axes that
/// shard y's other indices. With a compute type y has that type, and gradients have their parameters' types.
/// The constructors @throw Error naming the index and the spaces where X, W and Y disagree in extent, or have
/// other dims than the spec.
class Linear : public Layer<Linear> {
 public:
  /// For a model whose letters are roles: its layout places X, W and Y (`ModelSpaces`). The weight's
  /// published shape joins neighbouring dims that are summed over, and neighbouring dims that y has. So "hdc"
  /// of "btc,hdc->bthd" is published as (heads·d, c).
  Linear(Module& owner, const std::string& name, const std::string& spec, LinearOptions options = {});

  /// From X to Y, with the weight stored in weight_between(spec, X, Y).
  Linear(OwnerAndName place, const std::string& spec, const Space& X, const Space& Y,
         const LinearOptions& options = {});
  /// With the weight stored in W.
  Linear(OwnerAndName place, const std::string& spec, const Space& X, const Space& W, const Space& Y,
         const LinearOptions& options = {});
  /// With another module's weight.
  Linear(OwnerAndName place, const std::string& spec, const Space& X, const Parameter& weight, const Space& Y,
         const LinearOptions& options = {});

  /// y in Y, whose dims of any extent are those of x. @throws Error naming both spaces unless x is in X.
  Vector forward(const Vector& x);
  /// a(y), with the bias added in the same pass: c_proj(c_fc(x, "gelu")). For backward the product is saved
  /// in place of y. @throws Error also where y is left as terms: a function of a sum is not their sum.
  Vector forward(const Vector& x, const Activation& a);
  const Parameter& weight() const { return weight_; }

  std::string describe() const override;

 private:
  /// With another module's weight if there is one, which would lie in W.
  Linear(OwnerAndName place, const std::string& spec, const Space& X, const Parameter* weight, const Space& W,
         const Space& Y, const LinearOptions& options);
  /// The part of all constructors that needs the weight.
  void complete(const Space& X, const Space& Y, const LinearOptions& options);
  Vector product(const Vector& x);
  Vector with_bias(const Vector& y) const;

  std::string spec_;
  std::string y_indices_;
  std::string bias_indices_;  // those that w and y share
  Parameter weight_;
  std::optional<Parameter> bias_;
  bool terms_ = false;
  ContractionOptions options_;
  detail::PlanCache<Contraction> plans_{4};
};

}  // namespace riesz
