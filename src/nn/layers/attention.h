// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/relayout.h"

namespace riesz {

struct AttentionLayerOptions {
  std::string queries = "bthd";  ///< letters of the batch, the sequence, the query heads and their width
  std::string keys = "bthd";     ///< the same of keys and values, such as "btgd"
  bool causal = false;
  double dropout = 0;  ///< of the softmax, by the part "attn_dropout"
};

/// attention() as a part of a model whose letters are roles: computed where the layout says. With
/// Sequence::ring keys and values go round; with Sequence::ulysses queries, keys and values are brought to
/// whole sequences of some of the heads, and the result back.
class Attention : public Layer<Attention> {
 public:
  Attention(Module& owner, const std::string& name, const AttentionLayerOptions& options);

  /// Of queries, and keys and values of one space, each as projected inside a block → where queries lie.
  Vector forward(const Vector& q, const Vector& k, const Vector& v);
  /// Self-attention of projections in (3, B, T, heads, d), queries, keys and values along the first dim.
  Vector forward(const Vector& qkv);

  std::string describe() const override;

 private:
  AttentionLayerOptions options_;
  Dropout dropout_;
  Relayout queries_to_attending_;
  Relayout keys_to_attending_;
  Relayout to_attending_;  ///< of all three as one
  Relayout from_attending_;
};

}  // namespace riesz
