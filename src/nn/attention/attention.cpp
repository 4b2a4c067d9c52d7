// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/attention.h"

#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/unbind.h>

#include <array>
#include <cmath>
#include <memory>

#include "riesz/comm/error.h"
#include "riesz/nn/attention/local.h"
#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/ring_attention.h"
#include "riesz/nn/vectors/elsewhere.h"
#include "riesz/nn/vectors/thread_cache.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"

namespace riesz {
namespace {

using detail::PreparedAttention;

/// How a call attends, all of it said. A dropout in no context throws here: on every worker, before anything
/// moves.
struct AttentionSettings {
  detail::Visibility visibility;
  double scale;
  const Dropout* dropout;

  AttentionSettings(const AttentionOptions& options, const Space& Q)
      : visibility{options.causal, options.offset, options.window},
        scale(options.scale.value_or(1 / std::sqrt(static_cast<double>(Q.shape()[3])))),
        dropout(options.dropout != nullptr && options.dropout->active() ? options.dropout : nullptr) {
    RIESZ_CHECK(!options.window || (options.causal && *options.window > 0), "attention: a window of ",
                options.window.value_or(0), " positions, ", options.causal ? "causal" : "not causal",
                "; it is of a position's own and those before, 1 or more, and needs .causal = true");
  }
};

void check_mask(const Vector& mask) {
  RIESZ_CHECK(mask.local().is_floating_point() || mask.local().scalar_type() == at::kBool,
              "attention: a mask of ", mask.local().scalar_type(),
              "; it is of booleans, which positions are seen, or of what is added to scores");
  if (mask.local().scalar_type() == at::kBool)
    check_not_partial("attention: a mask of booleans", mask.space());
}

/// The mask read beside the probabilities; undefined if there is none.
at::Tensor mask_beside(const detail::AttentionPlan& plan, const std::optional<Vector>& mask) {
  if (!mask) return {};
  check_mask(*mask);
  thread_local detail::ThreadCache<std::array<Space, 3>, Operator> kept;
  const Space& M = mask->space();
  const Operator& read = kept.of({plan.queries, plan.keys, M}, [&] { return between(M, plan.beside(M)); });
  return read(*mask).local();
}

/// Of K and V packed, which move together.
at::Tensor attend_packed(const std::shared_ptr<const PreparedAttention>& prepared, const at::Tensor& q,
                         const Vector& kv, const at::Tensor& mask, const AttentionSettings& settings) {
  const auto& [visibility, scale, dropout] = settings;
  const at::Tensor read = prepared->read_packed(kv).local();
  if (prepared->ring) return detail::ring_attention(prepared, {q, read, mask}, visibility, scale, dropout);
  if (!kv.space().partition().active()) return detail::elsewhere(kv.space(), {q, read}).local();
  const std::vector<at::Tensor> parts = at::unbind(read);
  return detail::local_attention(*prepared, {q, parts[0], parts[1], mask}, visibility, scale, dropout);
}

/// Must they move together, or take their gradients' way together?
bool moves_packed(const PreparedAttention& prepared, const at::Tensor& k, const at::Tensor& v) {
  const Operator& read = prepared.read;
  return prepared.ring || read.moves() || (read.communicates() && (read.recorded(k) || read.recorded(v)));
}

}  // namespace

Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options) {
  RIESZ_CHECK(k.space() == v.space(), "attention: k and v lie in different spaces,\n  ", to_string(k.space()),
              "\n  ", to_string(v.space()), "\nbring one to the other's with between(X, Y)");
  const std::shared_ptr<const PreparedAttention> prepared = detail::prepared_attention(q.space(), k.space());
  const AttentionSettings settings(options, q.space());
  const at::Tensor mask = mask_beside(prepared->plan, options.mask);
  const bool active = q.space().partition().active();
  if (moves_packed(*prepared, k.local(), v.local())) {
    const at::Tensor kv = active ? at::stack({k.local(), v.local()})
                                 : detail::elsewhere(k.space(), {k.local(), v.local()}).local();
    return {q.space(),
            attend_packed(prepared, q.local(), Vector(detail::packed(k.space()), kv), mask, settings)};
  }
  const at::Tensor keys = prepared->read(k).local(), values = prepared->read(v).local();
  if (!active) return detail::elsewhere(q.space(), {q.local(), keys, values});
  return {q.space(), detail::local_attention(*prepared, {q.local(), keys, values, mask}, settings.visibility,
                                             settings.scale, settings.dropout)};
}

Vector attention(const Vector& qkv, const AttentionOptions& options) {
  const Space& S = qkv.space();
  RIESZ_CHECK(S.dims() == 5 && S.shape()[0] == 3, "attention of one vector takes (3, B, T, heads, d), not ",
              to_string(S));
  check_not_partial("attention", S);
  const std::vector<std::string> axes = sharding_axes(S, 0);
  RIESZ_CHECK(axes.empty(), "attention: axis ", axes.front(), " shards dim 0, q, k and v, of ", to_string(S),
              "; each worker needs all three: bring them there with between(X, Y)");
  const Space Q = select_dims(S, {1, 2, 3, 4});
  const std::shared_ptr<const PreparedAttention> prepared = detail::prepared_attention(Q, Q);
  const AttentionSettings settings(options, Q);
  const at::Tensor mask = mask_beside(prepared->plan, options.mask);
  const auto of_packed = [&](const at::Tensor& q, const at::Tensor& kv) {
    return Vector(Q, attend_packed(prepared, q, Vector(detail::packed(Q), kv), mask, settings));
  };
  if (!Q.partition().active()) return of_packed(qkv.local(), qkv.local());
  if (moves_packed(*prepared, qkv.local(), qkv.local())) {
    const std::vector<at::Tensor> parts = at::split_with_sizes(qkv.local(), {1, 2});
    return of_packed(parts[0].squeeze(0), parts[1]);
  }
  const std::vector<at::Tensor> parts = at::unbind(qkv.local());
  return {Q, detail::local_attention(*prepared, {parts[0], parts[1], parts[2], mask}, settings.visibility,
                                     settings.scale, settings.dropout)};
}

}  // namespace riesz
