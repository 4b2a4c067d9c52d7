// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/layers/attention.h"

#include "riesz/nn/attention/attention.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
Attention::Attention(Module& owner, const std::string& name, const std::string& letters,
                     const AttentionLayerOptions& options)
    : Layer({owner, name}),
      options_(options),
      dropout_({*this, "attn_dropout"}, options.dropout),
      to_attending_(insert_dim(spaces().attending(letters), 0, 3)),
      from_attending_(spaces().inside(letters)) {
  leads_to(spaces().inside(letters));
}

Vector Attention::forward(const Vector& qkv) {
  return from_attending_(causal_attention(to_attending_(qkv), dropout_));
}

std::string Attention::describe() const {
  return std::string(options_.causal ? "causal " : "") + "attention";
}

}  // namespace riesz
