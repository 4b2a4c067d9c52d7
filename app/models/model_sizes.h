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

/// The parts of a model of some kind, in the letters of its specs; its memory is estimated from them.
struct Architecture {
  std::map<char, double> extents;      ///< of all letters but b and t; p: rows of the table of positions
  std::vector<std::string> weights;    ///< the specs of a block's linear layers
  std::vector<std::string> biases;     ///< of each bias of a block, the letters of what it is added to
  double norms;                        ///< of a block
  double norm_vectors;                 ///< parameters of a block's norms, as vectors of the width
  double last_norm_vectors;            ///< of the norm behind the last block
  std::vector<std::string> attending;  ///< what backward reads of a block, placed as attention computes it
  std::vector<std::string> inside;     ///< what else it reads inside a block
  std::string table = "btv,vc->btc";   ///< the spec of what reads the model's inputs
  std::string output = "btc,vc->btv";  ///< of the output layer
  std::string logits = "btv";
  bool positions;  ///< has it a table of positions?
  bool tied;       ///< is the output layer's weight the token table?
  bool output_bias;
};

/// The elements of a model's weights and vectors on the first rank. No rank has more, unless pieces in zigzag
/// are uneven. They follow from the sizes and from where the layout places each letter. Floating-point, so
/// that nothing overflows at any size. Nothing is allocated.
class ModelSizes {
 public:
  ModelSizes(const models::CausalConfig& config, const Layout& layout);
  ModelSizes(const models::VitConfig& config, const Layout& layout);

  /// The weights of a block's linear layers.
  double matrices() const;
  /// The biases of a block's linear layers, and its norms' parameters.
  double vectors() const;
  double block() const { return matrices() + vectors(); }
  double tokens() const { return weight(of_.table); }
  double positions() const { return of_.positions ? weight("tp,pc->tc") : 0; }
  double last_norm() const;
  /// Weight and bias, without a weight that is the token table.
  double output() const;

  /// Rows plus columns of all whole matrices in their published shapes: of a block, and of the tables and the
  /// output layer. Adafactor keeps this many numbers.
  double rows_and_columns_of_block() const;
  double rows_and_columns_of_tables() const;

  // Of `rows` sequences of T tokens:

  /// The elements of a block that are kept for backward: in the type of the residual stream, and in the
  /// compute type. The results of norms and activations are made again from what these were given.
  struct Kept {
    double stored, computed;
  };
  Kept kept(double rows, double T) const;
  double stream(double rows, double T) const { return elements(spaces_.stream("btc"), "btc", rows, T); }
  /// The scores of a block's attention: of each position for each other, in each head.
  double scores(double rows, double T) const;
  double logits(double rows, double T) const {
    return elements(spaces_.inside(of_.logits), of_.logits, rows, T);
  }

  /// The spaces of a model with these roles.
  const ModelSpaces& spaces() const { return spaces_; }

 private:
  double elements(const Space& X, const std::string& letters, double rows = 1, double T = 1) const;
  double weight(const std::string& spec) const;
  double rows_and_columns(const std::string& spec) const;
  double width() const;

  Architecture of_;
  ModelSpaces spaces_;
};

}  // namespace riesz::app
