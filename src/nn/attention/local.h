// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "riesz/nn/attention/attention.h"
#include "riesz/nn/attention/plan.h"

namespace riesz {

/// Local tensors: q of (B, T, heads, d), k and v of (B, S, key heads, d) with S whole, and a mask that stands
/// beside the probabilities, or is undefined.
struct LocalOperands {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor mask;
};

/// y of (B, T, heads, d) for this worker's rows, wherever they are in the global sequence. Moves nothing;
/// torch's own operations record its gradient.
at::Tensor local_attention(const AttentionPlan& plan, const LocalOperands& operands,
                           const AttentionOptions& options);

}  // namespace riesz
