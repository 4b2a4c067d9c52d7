// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "riesz/pipeline/schedule/schedule.h"

namespace riesz {

/// The table in the form of torch.distributed.pipelining ("compute_only"): a line for each worker, a cell for
/// each slot, such as 2F3 for chunk 2, forward, micro-batch 3; F forward, B backward, I of inputs, W of
/// weights; empty is idle. Beyond that form there are R (recompute), and after the micro-batch @ with the
/// version of the weights and + for an update, which torch's reader skips.
std::string to_csv(const Schedule& schedule);

/// The table of a text in that form: @post from_csv(to_csv(s)) == s, for every s that `verify` accepts and
/// in which each row has an action and ends with one. A chunk lies on the worker that names it first. It also
/// reads what torch writes with communication ("compute_comms"), whose cells of communication it leaves out,
/// for they follow from the table; and overlapped pairs, (0F1;3B0)OVERLAP_F_B, as one action after the other.
/// It does not `verify`. @throws Error naming the source, line and cell, and what to write there.
Schedule from_csv(const std::string& text, const std::string& source = "schedule");

}  // namespace riesz
