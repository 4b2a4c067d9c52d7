// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace riesz {

/// A learning rate for `step`, counted from 0, of `steps`. It is linear from peak/warm_up up to `peak` over
/// the first `warm_up` steps, then half a cosine down to `floor`. The last step and all after it have that.
double warm_up_cosine(std::int64_t step, std::int64_t warm_up, std::int64_t steps, double peak, double floor);

/// The same rise, then a straight line down to `floor`, reached at the last step and kept after it.
double warm_up_linear(std::int64_t step, std::int64_t warm_up, std::int64_t steps, double peak, double floor);

/// The same rise, then `peak`.
double warm_up_constant(std::int64_t step, std::int64_t warm_up, double peak);

}  // namespace riesz
