// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/prepared.h"

#include "riesz/comm/plan_cache.h"
#include "riesz/primitives/between.h"

namespace riesz::detail {
namespace {

constexpr int kSequence = 1;

PreparedAttention prepared_for(const Space& Q, const Space& K) {
  const AttentionPlan plan = plan_attention(Q, K);
  const Space KV = packed(plan.keys);
  const Partition& P = Q.partition();
  PreparedAttention prepared{plan,
                             between(K, plan.keys),
                             between(packed(K), KV),
                             std::nullopt,
                             {},
                             {},
                             P.active() ? plan.key_heads(P.rank()) : KeyHeads({}, {}, 1),
                             plan.probabilities().shape()};
  if (plan.ring) prepared.ring.emplace(Q, KV, *plan.ring);
  if (P.active()) {
    prepared.queries = Q.boxes(P.rank());
    for (int step = 0; step < (plan.ring ? prepared.ring->steps() : 1); ++step) {
      const Space& at = plan.ring ? prepared.ring->at(step) : KV;
      prepared.columns.push_back(at.boxes(P.rank())[1 + kSequence]);
    }
  }
  return prepared;
}

}  // namespace

std::shared_ptr<const PreparedAttention> prepared_attention(const Space& Q, const Space& K) {
  static auto& plans = *new PlanCache<PreparedAttention>;
  return plans.get(
      [&](const PreparedAttention& made) { return made.plan.queries == Q && made.read.domain() == K; },
      [&] { return prepared_for(Q, K); });
}

}  // namespace riesz::detail
