// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>

namespace riesz::detail {

/// Calls part(begin, end) for parts that together are 0 to `count`, in LibTorch's own threads. Inside one of
/// those, or with one thread, it is one call. The cuts depend on the number of threads, so a result at an
/// index must depend on that index alone. `part` records no gradient and throws nothing. In a scope without
/// values it is not called.
void in_threads(std::int64_t count, const std::function<void(std::int64_t, std::int64_t)>& part);

}  // namespace riesz::detail
