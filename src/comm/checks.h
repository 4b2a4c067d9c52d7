// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// Whether workers compare what they must have alike: values where a space says Replicated or Copied. That
/// communicates, so only as the environment's RIESZ_CHECK (0 or 1) says, by default not. Alike on all
/// workers.
/// @throws Error if RIESZ_CHECK is something else.
bool checks();
void set_checks(bool on);

}  // namespace riesz
