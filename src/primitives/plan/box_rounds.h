// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "riesz/partition/space.h"
#include "riesz/primitives/plan/host_copy.h"
#include "riesz/primitives/plan/rounds.h"

namespace riesz {

/// The rounds of a box exchange: one, and a second one where a `HostCopy` has come from another host. Every
/// worker of the range receives what it needs from workers of the domain that hold it. Boxes are intersected
/// dim by dim, locally, on any two partitions; intervals may be uneven, empty, several, or overlap. `Routes`
/// says who sends what to whom.
///
///     y_r = Σ x_s | sent_s ∩ needed_r   over s ∈ senders(r), in rank order (bf16 and fp16 in fp32)
///
/// Cost: Σ |sent_s ∩ needed_r| elements over its receivers leave worker s, in one message to each that gets
/// any. Between hosts, elements that several workers of a host get from one sender travel as a `HostCopy`,
/// and a second round spreads them there. Sums are not changed by hosts. `axes`: those that change, if X and
/// Y are on one partition. `worker`: a world rank; a worker of neither partition has nothing to do. Local;
/// takes time in proportion to the worker's number of peers.
Rounds box_rounds(const Space& X, const Space& Y, const std::vector<int>& axes, int worker,
                  const Hosts& hosts);

}  // namespace riesz
