// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "riesz/nn/contraction/plan.h"

namespace riesz::detail {

/// `options.rounds` balanced panels (at most one an element) of the index along which most operands are
/// gathered or scattered. Among equals it is the first, as x, then w, then y list them. Nothing where nothing
/// is gathered.
/// @throws Error naming index, operand and space where more than one axis shards the index, or its intervals
/// are not in order.
std::optional<Stream> stream_of(const ContractionPlan& plan);

/// The part of a stored operand that a panel reads, as far as this worker holds it. An alias.
at::Tensor panel_of(const ContractionPlan& plan, std::size_t k, std::size_t panel, const at::Tensor& stored);

}  // namespace riesz::detail
