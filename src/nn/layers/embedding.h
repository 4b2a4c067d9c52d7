// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/comm/plan_cache.h"
#include "riesz/nn/contraction/contraction.h"
#include "riesz/nn/module.h"

namespace riesz {

/// An embedding: looks up a row of a table for each id. Ids lie in X; y lies in Y, which has X's dims and
/// then the table's width. The table lies in W, of (vocabulary, width). y is the contraction "btv,vc->btc" of
/// one-hot ids and the table, with the same traffic, but the one-hot ids are never made. Where an axis shards
/// the vocabulary, each worker looks up the rows that it holds, and the sum brings them together. Any dim may
/// be Sharded in any way, also the vocabulary and the width together. In half types the gradients of a row's
/// uses on a worker are added in fp32 and rounded once. The table's `decays` is false, as in minGPT. Cost:
/// that of the contraction. Vocabulary-parallel it is one AllReduce of y forward and none backward. Before it
/// comes an AllMax of two numbers over the axes that shard the ids, so all workers throw alike where one
/// holds a wrong id.
/// @throws Error on every worker of X's partition, naming an id outside the vocabulary, before anything
/// moves. On a device it comes one step late (`check_later`), and the id's row is NaN. Constructors @throw
/// Error naming the spaces that do not fit.
class Embedding : public Layer<Embedding> {
 public:
  /// For a model whose letters are roles, such as "bt,vc->btc". Ids and rows lie in the residual stream.
  Embedding(Module& owner, const std::string& name, const std::string& spec,
            Initial initial = Initial::normal(0.02));
  Embedding(OwnerAndName place, const Space& X, const Space& W, const Space& Y,
            Initial initial = Initial::normal(0.02));

  Vector forward(const Vector& ids);
  /// The table, to be used again (tied weights).
  const Parameter& weight() const { return weight_; }

  std::string describe() const override;

 private:
  void check_ids(const Vector& ids) const;
  at::Tensor look_up(const at::Tensor& ids, const Vector& rows) const;

  std::string ids_named_;  // in errors
  Parameter weight_;
  struct Plan {
    Contraction form;
    Operator read_ids;
  };
  Plan planned(const Space& X, const Space& W) const;
  detail::PlanCache<Plan> plans_{4};
};

}  // namespace riesz
