// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "riesz/app/models/tiling.h"
#include "riesz/train/config/config.h"

namespace riesz::app {

/// The most bytes that tensors of a rank take at once while a model predicts so many tiles in a call, its
/// weights among them. It is no formula of its own: each rank's part of a call is run without values
/// (`WithoutValues`), and what it would allocate is recorded. Libraries' scratch memory is not in it. Local.
double memory_of_tiles(const Config& config, const Tiling& tiling, std::int64_t at_once);

}  // namespace riesz::app
