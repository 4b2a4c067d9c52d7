// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/primitives/primitive.h"

namespace riesz::testing {

/// The definition of a step, with all workers in this process and none of the library's moves:
///
///     y_r = Σ x_s | box_s ∩ box_r   over s ∈ senders(r), in rank order
///
/// Half types are added in fp32 and rounded once. `parts`: x by rank. Local.
at::Tensor expected_part(const Primitive& step, const std::vector<at::Tensor>& parts, int rank);

/// What leaves worker `sender` of the domain for worker `receiver` of the range, in elements and messages.
/// AllReduce is a reduce-scatter and an all-gather of flat balanced chunks. Local.
Traffic expected_traffic(const Primitive& step, int sender, int receiver);

/// All that leaves `rank`. Local.
Traffic expected_sent(const Primitive& step, int rank);

/// All that `rank` of the range gets. Local.
Traffic expected_received(const Primitive& step, int rank);

/// Does the step add terms, or place pieces?
bool adds(const Primitive& step);

}  // namespace riesz::testing
