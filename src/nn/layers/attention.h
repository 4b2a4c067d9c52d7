// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/layers/dropout.h"
#include "riesz/nn/layers/relayout.h"

namespace riesz {

struct AttentionLayerOptions {
  bool causal = false;
  double dropout = 0;  ///< of the softmax, by the part "attn_dropout"
};

/// attention() as a part of a model whose letters are roles: computed where the layout says. With
/// Sequence::ring keys and values go round; with Sequence::ulysses queries, keys and values are brought to
/// whole sequences of some of the heads, and the result back.
class Attention : public Layer<Attention> {
 public:
  /// `letters` of queries, such as "bthd", keys and values alike.
  Attention(Module& owner, const std::string& name, const std::string& letters,
            const AttentionLayerOptions& options);

  /// Self-attention of projections in (3, B, T, heads, d), queries, keys and values along the first dim.
  Vector forward(const Vector& qkv);

  std::string describe() const override;

 private:
  AttentionLayerOptions options_;
  Dropout dropout_;
  Relayout to_attending_;
  Relayout from_attending_;
};

}  // namespace riesz
