// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/triu.h>

#include <cmath>
#include <limits>

#include "riesz/comm/error.h"
#include "riesz/partition/space_dims.h"

namespace riesz {
namespace {

void check_space(const Space& S) {
  RIESZ_CHECK(S.dims() == 5 && S.shape()[0] == 3, "causal_attention takes (3, B, T, heads, d), not ", to_string(S));
  check_not_partial("causal_attention", S);
  for (const int dim : {0, 2, 4}) {
    const std::vector<std::string> axes = sharding_axes(S, dim);
    RIESZ_CHECK(axes.empty(), "causal_attention: axis ", axes.front(), " shards dim ", dim, " of ", to_string(S),
                "; only the batch (1) and the heads (3) may be sharded: bring q, k and v there with between(X, Y)");
  }
}

/// (B, heads, T, T): where the probabilities lie.
Space probabilities_space(const Space& qkv) {
  const std::int64_t T = qkv.shape()[2];
  return insert_dim(insert_dim(select_dims(qkv, {1, 3}), 2, T), 3, T);
}

/// With dropout, the probabilities are made, for the mask is a function of their global indices.
at::Tensor attend_dropping(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Space& probabilities,
                           const Dropout& drop) {
  const std::int64_t T = q.size(2);
  const at::Tensor later = at::triu(at::ones({T, T}, q.options().dtype(at::kBool)), 1);
  const at::Tensor scores = at::matmul(q, k.transpose(-2, -1)).mul(1 / std::sqrt(static_cast<double>(q.size(3))));
  const at::Tensor weights =
      at::softmax(scores.masked_fill(later, -std::numeric_limits<double>::infinity()), -1);
  return at::matmul(drop(Vector(probabilities, weights)).local(), v);
}

}  // namespace

Vector causal_attention(const Vector& qkv, const Dropout& drop) {
  check_space(qkv.space());
  const Space Y = select_dims(qkv.space(), {1, 2, 3, 4});
  if (!Y.partition().active() || qkv.local().numel() == 0) {
    return {Y, qkv.local().reshape(Y.local_shape())};  // nothing to attend to, but the graph goes on
  }
  const at::Tensor q = qkv.local().select(0, 0).transpose(1, 2);  // (B, heads, T, d)
  const at::Tensor k = qkv.local().select(0, 1).transpose(1, 2);
  const at::Tensor v = qkv.local().select(0, 2).transpose(1, 2);
  const at::Tensor y = drop.active()
                           ? attend_dropping(q, k, v, probabilities_space(qkv.space()), drop)
                           : at::scaled_dot_product_attention(q, k, v, std::nullopt, 0.0, true);
  return {Y, y.transpose(1, 2)};
}

}  // namespace riesz
