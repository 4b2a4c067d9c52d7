// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// True if workers compare values that a space says are the same on several of them (Replicated or Copied).
/// Comparing communicates, so it is off unless the environment variable RIESZ_CHECK is 1 (the macro
/// RIESZ_CHECK is something else). The same on all workers.
/// @throws Error if RIESZ_CHECK is something else.
bool consistency_checks();
void set_consistency_checks(bool on);

/// True as long as calls wait for their comparisons. It becomes false when a call has waited in vain: some
/// workers call in another order, or are late. After that, comparisons end in the background.
/// `set_consistency_checks` makes it true again.
bool checks_are_waited_for();
void wait_for_checks_no_more();

}  // namespace riesz
