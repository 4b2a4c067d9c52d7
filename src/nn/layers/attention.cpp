// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/attention.h"

#include "riesz/comm/error.h"
#include "riesz/nn/attention/attention.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
Attention::Attention(Module& owner, const std::string& name, const AttentionLayerOptions& options)
    : Layer({owner, name}),
      options_(options),
      dropout_({*this, "attn_dropout"}, options.dropout),
      queries_to_attending_(spaces().attending(options.queries)),
      keys_to_attending_(spaces().attending(options.keys)),
      to_attending_(insert_dim(spaces().attending(options.queries), 0, 3)),
      from_attending_(spaces().inside(options.queries)) {
  leads_to(spaces().inside(options.queries));
}

Vector Attention::forward(const Vector& q, const Vector& k, const Vector& v) {
  return from_attending_(attention(queries_to_attending_(q), keys_to_attending_(k), keys_to_attending_(v),
                                   {.causal = options_.causal, .dropout = &dropout_}));
}

Vector Attention::forward(const Vector& qkv) {
  RIESZ_CHECK(options_.causal, "Attention ", path(), ": of projections in one it is causal self-attention");
  return from_attending_(causal_attention(to_attending_(qkv), dropout_));
}

std::string Attention::describe() const {
  return std::string(options_.causal ? "causal " : "") + "attention";
}

}  // namespace riesz
