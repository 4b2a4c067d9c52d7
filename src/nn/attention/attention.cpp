// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/attention.h"

#include <ATen/ops/ne.h>
#include <ATen/ops/split_with_sizes.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/unbind.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string_view>

#include "riesz/comm/error.h"
#include "riesz/comm/plan_cache.h"
#include "riesz/nn/attention/local.h"
#include "riesz/nn/attention/prepared.h"
#include "riesz/nn/attention/ring_attention.h"
#include "riesz/nn/vectors/following_space.h"
#include "riesz/nn/vectors/local_op.h"
#include "riesz/nn/vectors/shape.h"
#include "riesz/partition/space_dims.h"
#include "riesz/primitives/between.h"
#include "riesz/primitives/check_input.h"

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

/// Else its workers would be asked for it where they take no part. Seen by all alike, before anything is
/// sent.
void check_home(const char* what, const Vector& mask, const Partition& Q) {
  const Partition& P = mask.space().partition();
  if (P == Q) return;
  bool same = P.size() == Q.size();
  for (int rank = 0; same && rank < P.size(); ++rank) same = Q.rank_in(P.world_rank(rank)) >= 0;
  RIESZ_CHECK(same, "attention: ", what, " lies on other workers than q, in\n  ", to_string(mask.space()),
              "\nbeside ", to_string(Q),
              "; bring it there with between(X, Y), or in a model of several stages ",
              "give it to the module as an argument, or in a struct that says it by each_vector");
}

void check_mask(const Vector& mask, const Partition& Q) {
  check_home("the mask", mask, Q);
  RIESZ_CHECK(mask.local().is_floating_point() || mask.local().scalar_type() == at::kBool,
              "attention: a mask of ", mask.local().scalar_type(),
              "; it is of booleans, which positions are seen, or of what is added to scores");
  if (mask.local().scalar_type() == at::kBool)
    check_not_partial("attention: a mask of booleans", mask.space());
}

/// The mask with all four dims, if its letters say which it has.
std::optional<Vector> in_all_dims(const std::optional<AttentionMask>& mask) {
  if (!mask) return std::nullopt;
  if (mask->dims.empty()) return mask->vector;
  constexpr std::string_view kAll = "bhts";
  const std::vector<std::int64_t>& own = mask->vector.space().shape();
  std::vector<std::int64_t> shape;
  std::size_t next = 0;
  for (const char letter : kAll) {
    const bool has = next < mask->dims.size() && mask->dims[next] == letter;
    shape.push_back(has && next < own.size() ? own[next] : 1);
    next += has ? 1 : 0;
  }
  RIESZ_CHECK(
      next == mask->dims.size() && next == own.size() && mask->dims.back() == 's', "attention: a mask of \"",
      mask->dims, "\" in\n  ", to_string(mask->vector.space()),
      "\nits letters are those of its dims, of b (batch), h (heads), t (positions of q) and s (of k), in "
      "this order, the last one s");
  return reshape(mask->vector, shape);
}

/// How a mask is read where these queries and keys are.
struct MaskRead {
  Space queries, keys;
  Operator read;
};

template <typename Make>
Operator mask_read(detail::PlanCache<MaskRead>& plans, const detail::AttentionPlan& plan, const Space& M,
                   const Make& make) {
  return plans
      .get(
          [&](const MaskRead& made) {
            return made.read.domain() == M && made.queries == plan.queries && made.keys == plan.keys;
          },
          [&] {
            return MaskRead{plan.queries, plan.keys, make()};
          })
      ->read;
}

/// The mask read beside the probabilities; undefined if there is none.
at::Tensor mask_beside(const detail::AttentionPlan& plan, const std::optional<Vector>& mask) {
  if (!mask) return {};
  check_mask(*mask, plan.queries.partition());
  detail::check_operand("attention: the mask", *mask);
  static auto& plans = *new detail::PlanCache<MaskRead>;
  const Space& M = mask->space();
  return mask_read(plans, plan, M, [&] { return between(M, plan.beside(M)); })(*mask).local();
}

void check_seen(const Vector& seen, const Partition& Q) {
  check_home(".seen", seen, Q);
  const at::ScalarType type = seen.local().scalar_type();
  RIESZ_CHECK(
      at::isIntegralType(type, true), "attention: .seen of ", type,
      "; it is of booleans or integers, not 0 where a key is seen; what is added to scores is a .mask");
  check_not_partial("attention: .seen", seen.space());
}

/// Of booleans, with all keys of the sequences that are here; undefined if there is none.
at::Tensor seen_keys(const detail::AttentionPlan& plan, const std::optional<Vector>& seen) {
  if (!seen) return {};
  check_seen(*seen, plan.queries.partition());
  detail::check_operand("attention: .seen", *seen);
  static auto& plans = *new detail::PlanCache<MaskRead>;
  const Space& M = seen->space();
  const Operator read = mask_read(plans, plan, M, [&] {
    const Space keys = plan.seen_keys();
    RIESZ_CHECK(M.shape() == keys.shape(), "attention: .seen in\n  ", to_string(M),
                "\nsays which keys of each sequence are seen, so it is of (B, S), here ",
                at::IntArrayRef(keys.shape()), "; what differs by position of q is a .mask");
    return between(M, keys);
  });
  return read(Vector(M, seen->local().ne(0))).local();
}

/// What acts on scores beside causality: read to where they are.
struct Masks {
  at::Tensor added;  // or which are seen, of booleans
  at::Tensor seen;

  Masks(const detail::AttentionPlan& plan, const AttentionOptions& options)
      : added(mask_beside(plan, in_all_dims(options.mask))), seen(seen_keys(plan, options.seen)) {}
};

/// Of K and V packed, which move together.
Vector attend_packed(const std::shared_ptr<const PreparedAttention>& prepared, const at::Tensor& q,
                     const Vector& kv, const Masks& masks, const AttentionSettings& settings, bool constant) {
  const Space& Q = prepared->plan.queries;
  const at::Tensor read = prepared->read_packed(kv).local();
  if (prepared->ring)
    return {Q,
            detail::ring_attention(prepared, {q, read, masks.added, masks.seen, constant},
                                   settings.visibility, settings.scale, settings.dropout),
            constant};
  return detail::local_op(Q, {q, read}, constant, [&] {
    const std::vector<at::Tensor> parts = at::unbind(read);
    return detail::local_attention(*prepared, {q, parts[0], parts[1], masks.added, masks.seen},
                                   settings.visibility, settings.scale, settings.dropout);
  });
}

/// Must they move together, or take their gradients' way together?
bool moves_packed(const PreparedAttention& prepared, const Vector& k, const Vector& v) {
  const Operator& read = prepared.read;
  return prepared.ring || read.sends() || (read.communicates() && (read.recorded(k) || read.recorded(v)));
}

/// Is no operand of a call anything but a constant?
bool all_constant(const std::vector<Vector>& operands, const AttentionOptions& options) {
  return (!options.mask || options.mask->vector.is_constant()) &&
         std::all_of(operands.begin(), operands.end(), [](const Vector& x) { return x.is_constant(); });
}

}  // namespace

Vector attention(const Vector& q, const Vector& k, const Vector& v, const AttentionOptions& options) {
  RIESZ_CHECK(k.space() == v.space(), "attention: k and v lie in different spaces,\n  ", to_string(k.space()),
              "\n  ", to_string(v.space()), "\n", conversion_hint(k.space(), v.space()));
  const std::shared_ptr<const PreparedAttention> prepared = detail::prepared_attention(q.space(), k.space());
  const AttentionSettings settings(options, q.space());
  const Masks masks(prepared->plan, options);
  const bool constant = all_constant({q, k, v}, options);
  if (moves_packed(*prepared, k, v)) {
    const bool of_kv = k.is_constant() && v.is_constant();
    const Vector kv = detail::local_op(prepared->read_packed.domain(), {k.local(), v.local()}, of_kv, [&] {
      return at::stack({k.local(), v.local()});
    });
    return attend_packed(prepared, q.local(), kv, masks, settings, constant);
  }
  const at::Tensor keys = prepared->read(k).local(), values = prepared->read(v).local();
  return detail::local_op(q.space(), {q.local(), keys, values}, constant, [&] {
    return detail::local_attention(*prepared, {q.local(), keys, values, masks.added, masks.seen},
                                   settings.visibility, settings.scale, settings.dropout);
  });
}

Vector attention(const Vector& qkv, const AttentionOptions& options) {
  const Space& S = qkv.space();
  RIESZ_CHECK(S.dims() == 5 && S.shape()[0] == 3, "attention of one vector takes (3, B, T, heads, d), not ",
              to_string(S));
  check_not_partial("attention", S);
  const std::vector<std::string> axes = sharding_axes(S, 0);
  RIESZ_CHECK(axes.empty(), "attention: axis ", axes.front(), " shards dim 0, q, k and v, of ", to_string(S),
              "; each worker needs all three: bring them there with between(X, Y)");
  static auto& plans = *new detail::PlanCache<detail::FollowingSpace>;
  const Space Q = detail::following(plans, S, {}, [&] { return select_dims(S, {1, 2, 3, 4}); })->Y;
  const std::shared_ptr<const PreparedAttention> prepared = detail::prepared_attention(Q, Q);
  const AttentionSettings settings(options, Q);
  const Masks masks(prepared->plan, options);
  const bool constant = all_constant({qkv}, options);
  const auto of_packed = [&](const at::Tensor& q, const at::Tensor& kv) {
    const Vector packed(prepared->read_packed.domain(), kv, qkv.is_constant());
    return attend_packed(prepared, q, packed, masks, settings, constant);
  };
  if (!Q.partition().active()) return of_packed(qkv.local(), qkv.local());
  if (moves_packed(*prepared, qkv, qkv)) {
    const std::vector<at::Tensor> parts = at::split_with_sizes(qkv.local(), {1, 2});
    return of_packed(parts[0].squeeze(0), parts[1]);
  }
  const std::vector<at::Tensor> parts = at::unbind(qkv.local());
  return {Q,
          detail::local_attention(*prepared, {parts[0], parts[1], parts[2], masks.added, masks.seen},
                                  settings.visibility, settings.scale, settings.dropout),
          constant};
}

}  // namespace riesz
