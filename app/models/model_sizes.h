// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "riesz/app/models/architecture.h"
#include "riesz/models/causal_model.h"
#include "riesz/models/vit.h"
#include "riesz/nn/experts/expert_parts.h"
#include "riesz/nn/layout/model_spaces.h"

namespace riesz::app {

/// Which parameters, by their names.
using WhichNames = std::function<bool(const std::string& name)>;

/// The elements of a model's weights and vectors on the first rank. No rank has more, unless pieces in zigzag
/// are uneven. They follow from the sizes and from where the layout places each letter. Floating-point, so
/// that nothing overflows at any size. Nothing is allocated.
class ModelSizes {
 public:
  ModelSizes(const models::CausalConfig& config, const Layout& layout);
  ModelSizes(const models::VitConfig& config, const Layout& layout);

  /// Some parameters. Adafactor keeps rows_and_columns numbers: of all matrices, whole in their published
  /// shapes.
  struct Parameters {
    double elements = 0, vectors = 0, rows_and_columns = 0;  ///< vectors: elements of biases and norms
    double experts = 0;                                      ///< elements of experts
    Parameters& operator+=(const Parameters& other);
    friend Parameters operator*(double n, const Parameters& of) {
      return {n * of.elements, n * of.vectors, n * of.rows_and_columns, n * of.experts};
    }
  };

  Parameters block(std::int64_t i, const WhichNames& which) const;
  Parameters tokens(const WhichNames& which) const;
  Parameters positions(const WhichNames& which) const;
  Parameters last_norm(const WhichNames& which) const;
  /// Weight and bias, without a weight that is the token table.
  Parameters output(const WhichNames& which) const;
  /// Is any parameter before the first block among these?
  bool any_before_blocks(const WhichNames& which) const;

  // Of `rows` sequences of T tokens:

  /// The elements of a block that are kept for backward: in the type of the residual stream, and in the
  /// compute type. The results of norms and activations are made again from what these were given. `varied`:
  /// does a gradient go back to what the block is given, and to what it gives?
  struct Kept {
    double stored = 0, computed = 0;
    bool varied = true;
  };
  /// Of block i, where these parameters are trained.
  Kept kept(double rows, double T, std::int64_t i, bool varied, const WhichNames& trained) const;
  /// Of the block that keeps the most, where all are.
  Kept kept(double rows, double T) const;
  /// Blocks i and i + period() have the same layers.
  std::int64_t period() const { return of_.mixture.every; }
  /// The most that a linear layer of an MLP has at once in backward, where it multiplies them: x and its
  /// gradient, w and its, and y's gradient.
  double multiplied(double rows, double T) const;
  double stream(double rows, double T) const { return elements(spaces_.stream("btc"), "btc", rows, T); }
  /// The scores of a block's attention: of each position for each other, in each head.
  double scores(double rows, double T) const;
  double logits(double rows, double T) const {
    return elements(spaces_.inside(of_.logits), of_.logits, rows, T);
  }

  /// From now on rows of experts are the most that a worker may get (`most_kept_rows`), no longer
  /// what is expected.
  void count_most_rows() { most_rows_ = true; }
  /// From now on rows are those of a measurement, in which some gates drop nothing.
  void count_measured_rows() {
    if (!of_.mixture.gate.drops_always) of_.mixture.gate.drop = GateOptions::Drop::none;
  }

  /// The spaces of a model with these roles.
  const ModelSpaces& spaces() const { return spaces_; }

 private:
  double elements(const Space& X, const std::string& letters, double rows = 1, double T = 1) const;
  double weight(const std::string& spec) const;
  Parameters matrix(const std::string& spec) const;
  Parameters matrix(const std::string& spec, const std::string& path, const WhichNames& which) const;
  Parameters norm(const std::string& path, const WhichNames& which) const;
  double width() const;
  /// The weights of these names, of all experts of a block.
  Parameters experts(const std::string& block, const std::vector<std::string>& names,
                     const WhichNames& which) const;
  /// Their biases.
  Parameters biases_of_experts(const std::string& block, const WhichNames& which) const;
  /// How experts lie over the workers of their axis; where there is no such axis, on one.
  ExpertParts expert_parts() const;
  /// The inner width of an expert on a worker that has a part of it.
  double inner_of_expert() const;
  /// The rows of tokens that a worker's experts compute with.
  double routed(double rows, double T) const;

  Architecture of_;
  ModelSpaces spaces_;
  bool most_rows_ = false;
};

}  // namespace riesz::app
