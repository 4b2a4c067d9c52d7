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

/// All that leaves `rank` of the domain, in elements and messages. AllReduce is a reduce-scatter and an
/// all-gather of flat balanced chunks. What several workers of another host get is sent to one of them. It
/// has too few elements to be cut into pieces. Local.
Traffic expected_sent(const Primitive& step, int rank);

/// The same of any worker of the job: one of the range alone gives on what came from another host. Local.
Traffic expected_from(const Primitive& step, int world_rank);

/// What leaves `rank` of the range in the adjoint: on one host all that it gets. Local.
Traffic expected_received(const Primitive& step, int rank);

/// Does the step add terms, or place pieces?
bool adds(const Primitive& step);

}  // namespace riesz::testing
