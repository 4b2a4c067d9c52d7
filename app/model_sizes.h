// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <vector>

#include "riesz/models/causal_model.h"
#include "riesz/models/vit.h"
#include "riesz/nn/layout/model_spaces.h"

namespace riesz::app {

/// What a model of some kind is made of, in the letters of its specs: what its memory is estimated from.
struct Anatomy {
  std::map<char, double> extents;    ///< by letter, with p positions; but not of b and t
  std::vector<std::string> weights;  ///< of a block's linear layers, by spec
  std::vector<std::string> biases;   ///< of a block's, by the letters of what they are added to
  double norms;                      ///< of a block and the last one, in vectors of the width each
  double last_norm;
  std::vector<std::string> attending;  ///< what backward reads of a block where attention is computed
  std::vector<std::string> inside;     ///< and inside a block beside it
  double branches;                     ///< that read a norm of their own
  double kept_by_norm = 0;             ///< vectors of the width that a norm keeps beside what it was given
  std::string table = "btv,vc->btc";   ///< of what the model reads, by spec
  std::string output = "btc,vc->btv";  ///< of the output layer
  std::string logits = "btv";
  bool positions;  ///< has it a table of positions?
  bool tied;       ///< is the output layer's weight the token table?
  bool output_bias;
};

/// How large the first rank's parts of a model's weights and vectors are, in elements; they are as large as
/// any rank's but for what a zigzag leaves over. A function of the sizes and of where the layout puts each
/// letter; floating-point, so that nothing overflows whatever the sizes. Nothing is allocated.
class ModelSizes {
 public:
  ModelSizes(const models::CausalConfig& config, const Layout& layout);
  ModelSizes(const models::VitConfig& config, const Layout& layout);

  // Of a block: the weights of its linear layers; their biases, and the norms'.
  double matrices() const;
  double vectors() const;
  double block() const { return matrices() + vectors(); }
  double tokens() const { return weight(of_.table); }
  double positions() const { return of_.positions ? weight("tp,pc->tc") : 0; }
  double last_norm() const;
  /// Weight and bias, without a weight that is the token table.
  double output() const;

  /// The rows and the columns of all matrices as published, whole: of a block; of the tables and the output
  /// layer.
  double rows_and_columns_of_block() const;
  double rows_and_columns_of_tables() const;

  /// Of so many sequences of T tokens: what backward reads of a block, in the type of the residual stream and
  /// in the one in which layers compute.
  struct Kept {
    double stored, computed;
  };
  Kept kept(double rows, double T) const;
  double stream(double rows, double T) const { return elements(spaces_.stream("btc"), "btc", rows, T); }
  /// Of attention in a block: of each position for each.
  double scores(double rows, double T) const;
  double logits(double rows, double T) const {
    return elements(spaces_.inside(of_.logits), of_.logits, rows, T);
  }

  double kept_by_norm() const { return of_.kept_by_norm; }

  const ModelSpaces& spaces() const { return spaces_; }

 private:
  double elements(const Space& X, const std::string& letters, double rows = 1, double T = 1) const;
  double weight(const std::string& spec) const;
  double rows_and_columns(const std::string& spec) const;
  double width() const;

  Anatomy of_;
  ModelSpaces spaces_;  // of a model of the least sizes: which axes shard what is the same
};

}  // namespace riesz::app
