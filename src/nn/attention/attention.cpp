// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/attention.h"

#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/unbind.h>

#include <cmath>
#include <utility>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/local.h"
#include "riesz/nn/attention/plan.h"
#include "riesz/nn/attention/ring_attention.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

/// A dropout that no model has adopted throws here: on every worker, before anything moves.
AttentionOptions completed(AttentionOptions options, const Space& Q) {
  if (options.dropout != nullptr && !options.dropout->active()) options.dropout = nullptr;
  if (!options.scale) options.scale = 1 / std::sqrt(static_cast<double>(Q.shape()[3]));
  return options;
}

/// The mask read beside the probabilities; undefined if there is none.
at::Tensor mask_beside(const AttentionPlan& plan, const AttentionOptions& options) {
  if (!options.mask) return {};
  const Vector& mask = *options.mask;
  RIESZ_CHECK(mask.local().is_floating_point() || mask.local().scalar_type() == at::kBool,
              "attention: a mask of ", mask.local().scalar_type(),
              "; it is of booleans, which positions are seen, or of what is added to scores");
  if (mask.local().scalar_type() == at::kBool)
    check_not_partial("attention: a mask of booleans", mask.space());
  return between(mask.space(), plan.beside(mask.space()))(mask).local();
}

/// Of K and V packed, which move together.
at::Tensor attend_packed(const AttentionPlan& plan, const Vector& q, const Vector& kv,
                         const AttentionOptions& options) {
  const at::Tensor mask = mask_beside(plan, options);
  const Space KV = packed(plan.keys);
  const at::Tensor read = plan.reads ? between(kv.space(), KV)(kv).local() : kv.local();
  const Partition& P = q.space().partition();
  if (plan.ring) {
    const detail::KeyHeads key_heads = P.active() ? plan.key_heads(P.rank()) : detail::KeyHeads({}, {}, 1);
    return ring_attention(Ring(q.space(), KV, *plan.ring), key_heads, {q.local(), read, mask}, options);
  }
  if (!P.active()) return q.local();
  const std::vector<at::Tensor> key_and_value = at::unbind(read);
  return local_attention(plan, {q.local(), key_and_value[0], key_and_value[1], mask}, options);
}

}  // namespace

Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options) {
  RIESZ_CHECK(k.space() == v.space(), "attention: k and v lie in different spaces,\n  ", to_string(k.space()),
              "\n  ", to_string(v.space()), "\nbring one to the other's with between(X, Y)");
  const AttentionPlan plan = plan_attention(q.space(), k.space());
  const AttentionOptions all = completed(options, q.space());
  const bool active = q.space().partition().active();
  if (plan.ring || plan.reads) {
    const at::Tensor kv = active ? at::stack({k.local(), v.local()}) : k.local();
    return {q.space(), attend_packed(plan, q, Vector(packed(k.space()), kv), all)};
  }
  const at::Tensor mask = mask_beside(plan, all);
  if (!active) return q;
  return {q.space(), local_attention(plan, {q.local(), k.local(), v.local(), mask}, all)};
}

Vector causal_attention(const Vector& qkv, const Dropout& drop) {
  const Space& S = qkv.space();
  RIESZ_CHECK(S.dims() == 5 && S.shape()[0] == 3, "causal_attention takes (3, B, T, heads, d), not ",
              to_string(S));
  check_not_partial("causal_attention", S);
  const std::vector<std::string> axes = sharding_axes(S, 0);
  RIESZ_CHECK(axes.empty(), "causal_attention: axis ", axes.front(), " shards dim 0, q, k and v, of ",
              to_string(S), "; each worker needs all three: bring them there with between(X, Y)");
  const Space Q = select_dims(S, {1, 2, 3, 4});
  const AttentionPlan plan = plan_attention(Q, Q);
  const AttentionOptions options = completed({.causal = true, .dropout = &drop}, Q);
  if (!Q.partition().active())
    return {Q, attend_packed(plan, Vector(Q, qkv.local()), Vector(packed(Q), qkv.local()), options)};
  if (plan.ring || plan.reads) {
    const std::vector<at::Tensor> parts = at::split_with_sizes(qkv.local(), {1, 2});
    return {Q, attend_packed(plan, Vector(Q, parts[0].squeeze(0)), Vector(packed(Q), parts[1]), options)};
  }
  const std::vector<at::Tensor> parts = at::unbind(qkv.local());
  return {Q, local_attention(plan, {parts[0], parts[1], parts[2], {}}, options)};
}

}  // namespace riesz
