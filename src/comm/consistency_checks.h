// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// True if workers compare values that a space says are the same on several of them (Replicated or Copied).
/// Comparing communicates, so it is off unless the environment sets RIESZ_CHECK=1. The same on all workers.
/// @throws Error if RIESZ_CHECK is something else.
bool consistency_checks();
void set_consistency_checks(bool on);

/// True unless a comparison was waited for in vain since checks were set: some workers call in another order,
/// or are late. From there on comparisons end in the background, so that no call waits for them.
bool checks_are_waited_for();
void wait_for_checks_no_more();

}  // namespace riesz
