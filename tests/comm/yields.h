// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace riesz {

/// How often this thread has yielded its core.
int yields_here();

}  // namespace riesz
