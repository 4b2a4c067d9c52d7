// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "expect_attention.h"

#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "expect.h"
#include "riesz/nn/random/dropout_mask.h"
#include "riesz/nn/random/random.h"
#include "riesz/primitives/backward.h"
#include "riesz/primitives/chain.h"

namespace riesz::testing {
namespace {

/// (T, S), (B, T, S), (B, heads, T, S), the last perhaps of dims of 1, as something that broadcasts to the
/// last.
at::Tensor beside(const at::Tensor& mask) { return mask.dim() == 3 ? mask.unsqueeze(1) : mask; }

/// The global mask of a case; of booleans about two of three are seen, and the first position sees nothing.
at::Tensor mask_of(const AttentionCase& c) {
  const at::Tensor drawn = draws(c.mask->shape(), 5);
  if (!c.boolean) return drawn;
  at::Tensor seen = drawn.gt(-0.4);
  if (seen.size(-2) > 0) seen.select(-2, 0).fill_(false);
  return seen;
}

}  // namespace

std::string to_string(const AttentionCase& c) {
  return std::string(c.causal ? "causal" : "not causal") + " from " + std::to_string(c.offset) +
         (c.window ? ", window " + std::to_string(*c.window) : "") + ", dropping " +
         std::to_string(c.dropped) +
         (c.mask ? std::string(c.boolean ? ", seen " : ", added ") + riesz::to_string(*c.mask) : "") +
         (c.seen ? ", keys seen " + riesz::to_string(*c.seen) : "");
}

at::Tensor hidden_causally(std::int64_t T, std::int64_t S, std::int64_t offset,
                           std::optional<std::int64_t> window) {
  const at::Tensor all = at::ones({T, S}, at::kDouble);
  const at::Tensor later = all.triu(offset + 1).gt(0);
  return window ? later.logical_or(all.tril(offset - *window).gt(0)) : later;
}

at::Tensor padded_keys(std::int64_t B, std::int64_t S) {
  at::Tensor seen = draws({B, S}, 6).gt(-0.4);
  for (std::int64_t b = 0; b < std::min<std::int64_t>(B, 3); ++b) {
    const at::Tensor keys = seen.select(0, b).fill_(b > 0);
    if (b == 1) keys.narrow(0, S - S / 3, S / 3).fill_(false);
    if (b == 2) keys.narrow(0, 0, S / 2).fill_(false);
  }
  return seen;
}

DropoutModel::DropoutModel(double p) : Module("h.0"), drop({*this, "attn_dropout"}, p) {}

at::Tensor dropped_of(const std::vector<std::int64_t>& shape, double p) {
  return detail::dropout_mask(Space(Partition::simulated(1), shape), philox_key(7, "h.0.attn_dropout"), 3, p,
                              at::kDouble);
}

at::Tensor attention_formula(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, double scale,
                             const at::Tensor& bias, const at::Tensor& hidden, const at::Tensor& kept) {
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  const at::Tensor scores = at::matmul(heads(q), heads(k).transpose(2, 3)).mul(scale).add(bias);
  const at::Tensor unseen = hidden.expand_as(scores);
  const at::Tensor weights =
      at::softmax(scores.masked_fill(unseen, -std::numeric_limits<double>::infinity()), -1)
          .masked_fill(unseen.all(-1, true), 0);
  return heads(at::matmul(weights.mul(kept), heads(v)));
}

void expect_attention(const Space& Q, const Space& K, const AttentionCase& c) {
  SCOPED_TRACE("q in " + to_string(Q) + "\nk, v in " + to_string(K) + "\n" + to_string(c));
  const std::int64_t B = Q.shape()[0], T = Q.shape()[1], H = Q.shape()[2], S = K.shape()[1];
  const at::Tensor q_global = draws(Q.shape(), 1).requires_grad_();
  const at::Tensor k_global = draws(K.shape(), 2).requires_grad_();
  const at::Tensor v_global = draws(K.shape(), 3).requires_grad_();
  const at::Tensor ybar = draws(Q.shape(), 4);
  const at::Tensor mask = c.mask ? mask_of(c) : at::zeros({T, S}, at::kDouble);
  const bool added = c.mask && !c.boolean;
  at::Tensor hidden = hidden_causally(T, S, c.offset, c.window);
  if (!c.causal) hidden = at::zeros_like(hidden);
  if (c.boolean) hidden = hidden.logical_or(beside(mask).logical_not());
  const at::Tensor keys = padded_keys(B, S);
  if (c.seen) hidden = hidden.logical_or(keys.logical_not().unsqueeze(1).unsqueeze(1));
  const at::Tensor bias = (added ? mask : at::zeros({T, S}, at::kDouble)).detach().clone().requires_grad_();
  const DropoutModel model(c.dropped);
  AttentionOptions options{
      .causal = c.causal, .window = c.window, .scale = c.scale, .dropout = &model.drop, .offset = c.offset};
  std::vector<Vector> inputs{leaf(Q, q_global), leaf(K, k_global), leaf(K, v_global)};
  if (added) inputs.push_back(leaf(*c.mask, mask));
  if (c.mask) options.mask = added ? inputs.back() : distribute(*c.mask, mask);
  if (c.seen) options.seen = distribute(*c.seen, c.causal ? keys.to(at::kLong) : keys);

  Chain chain;
  const Vector y = attention(inputs[0], inputs[1], inputs[2], options);
  const std::vector<Vector> bar = pullback(y, distribute(dual(y.space()), ybar), inputs);

  const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(Q.shape()[3])));
  const std::int64_t group = K.shape()[2] == 0 ? 1 : H / K.shape()[2];
  const auto for_each_query_head = [&](const at::Tensor& x) { return at::repeat_interleave(x, group, 2); };
  const at::Tensor expected =
      attention_formula(q_global, for_each_query_head(k_global), for_each_query_head(v_global), scale,
                        beside(bias), hidden, dropped_of({B, H, T, S}, c.dropped));
  expected.backward(ybar);
  EXPECT_EQ(y.space(), Q);
  EXPECT_TRUE(means(y, expected, c.tolerance)) << "the value";
  EXPECT_TRUE(means(bar[0], q_global.grad(), c.tolerance)) << "by q";
  EXPECT_TRUE(means(bar[1], k_global.grad(), c.tolerance)) << "by k";
  EXPECT_TRUE(means(bar[2], v_global.grad(), c.tolerance)) << "by v";
  if (added) {
    EXPECT_TRUE(means(bar[3], bias.grad(), c.tolerance)) << "by the mask";
  }
}

}  // namespace riesz::testing
