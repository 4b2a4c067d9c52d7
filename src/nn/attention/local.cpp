// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#include "riesz/nn/attention/local.h"

#include <ATen/ops/_safe_softmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "riesz/nn/attention/tile.h"
#include "riesz/nn/vectors/accumulation_type.h"

namespace riesz {
namespace {

/// The mask with more positions hidden.
at::Tensor hiding(const at::Tensor& mask, const at::Tensor& hidden) {
  if (!mask.defined()) return hidden.logical_not();
  if (mask.scalar_type() == at::kBool) return mask.logical_and(hidden.logical_not());
  return mask.masked_fill(hidden, -std::numeric_limits<double>::infinity());
}

/// With dropout the probabilities are made, for its mask is a function of their global indices.
at::Tensor attend_openly(const Space& probabilities, const LocalOperands& by_head,
                         const AttentionOptions& options) {
  const at::ScalarType type = by_head.q.scalar_type();
  const auto joined = [&](const at::Tensor& x) { return x.to(accumulation_type(type)); };
  const at::Tensor& mask = by_head.mask;
  at::Tensor scores =
      grouped_product(joined(by_head.q), joined(by_head.k).transpose(-2, -1)).mul(*options.scale);
  if (mask.defined() && mask.scalar_type() != at::kBool) scores = scores.add(joined(mask));
  if (mask.defined() && mask.scalar_type() == at::kBool) {
    scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
  }
  const Vector weights(probabilities, at::_safe_softmax(scores, -1));
  const at::Tensor kept = options.dropout == nullptr ? weights.local() : (*options.dropout)(weights).local();
  return grouped_product(kept, joined(by_head.v)).to(type);
}

at::Tensor attend_fused(const LocalOperands& by_head, bool causal, const AttentionOptions& options) {
  const auto& [q, k, v, mask] = by_head;
  const std::optional<at::Tensor> seen = mask.defined() ? std::optional(mask) : std::nullopt;
  return at::scaled_dot_product_attention(q, k, v, seen, 0.0, causal, options.scale, q.size(1) != k.size(1));
}

/// Causal: for each run of rows only the columns up to its last.
at::Tensor attend_causally(const Intervals& rows, const LocalOperands& by_head,
                           const AttentionOptions& options) {
  const auto& [q, k, v, mask] = by_head;
  if (rows.size() == 1 && rows.front().begin == 0 && !mask.defined())
    return attend_fused(by_head, true, options);
  std::vector<at::Tensor> pieces;
  std::int64_t row = 0;
  for (const Interval& run : rows) {
    const Interval columns{0, std::min(run.end, k.size(2))};
    const at::Tensor part = mask.defined() ? mask.narrow(2, row, run.size()).narrow(3, 0, columns.end) : mask;
    pieces.push_back(
        attend_fused({q.narrow(2, row, run.size()), k.narrow(2, 0, columns.end), v.narrow(2, 0, columns.end),
                      hiding(part, causal_mask({run}, {columns}, q.device()))},
                     false, options));
    row += run.size();
  }
  return at::cat(pieces, 2);
}

}  // namespace

at::Tensor local_attention(const AttentionPlan& plan, const LocalOperands& operands,
                           const AttentionOptions& options) {
  const Partition& P = plan.queries.partition();
  const Intervals rows = plan.queries.boxes(P.rank())[1];
  const auto heads = [](const at::Tensor& x) { return x.transpose(1, 2); };
  const detail::KeyHeads key_heads = plan.key_heads(P.rank());
  LocalOperands by_head{heads(operands.q), heads(key_heads.used(operands.k, 2)),
                        heads(key_heads.used(operands.v, 2)),
                        operands.mask.defined() ? by_probability(operands.mask) : operands.mask};
  at::Tensor& mask = by_head.mask;
  if (mask.defined() && mask.scalar_type() != at::kBool) mask = mask.to(operands.q.scalar_type());
  const bool drops = options.dropout != nullptr;
  const bool empty = operands.q.numel() == 0 || operands.k.numel() == 0;
  if (drops || empty || (mask.defined() && mask.requires_grad())) {
    const Intervals columns{{0, operands.k.size(1)}};
    if (options.causal) mask = hiding(mask, causal_mask(rows, columns, operands.q.device()));
    return heads(attend_openly(plan.probabilities(), by_head, options));
  }
  return heads(options.causal ? attend_causally(rows, by_head, options)
                              : attend_fused(by_head, false, options));
}

}  // namespace riesz
