// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "riesz/train/config/config.h"

namespace riesz {

/// Steps first to last, counted from 1; both belong to it.
struct StepWindow {
  std::int64_t first = 1;
  std::int64_t last = 1;

  bool operator==(const StepWindow&) const = default;
};

/// The window that train.profile names as FIRST:LAST; none if the key is empty.
/// @throws Error naming the key, unless 1 ≤ FIRST ≤ LAST and FIRST ≤ train.steps.
std::optional<StepWindow> profile_window(const Config& config);

}  // namespace riesz
