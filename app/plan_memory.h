// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "riesz/train/config.h"

namespace riesz::app {

/// What `riesz plan-memory` is asked, of each host.
struct HostWords {
  std::optional<int> ranks;      ///< that run there; nothing: all of the layout's
  std::optional<double> memory;  ///< that it has left, in GiB; nothing: as much as this one has now
};

/// What a rank will take, by category, and that so many of them fit a host: an estimate (`estimate_memory`)
/// of a training of any layout, of which nothing is there and nothing is allocated (of model.from its
/// config.json alone). Local.
/// @throws Error on bad input; where they do not fit with the same table, and the settings with which they
/// would; or where this host does not say what it has left.
std::string memory_plan(const Config& given, const HostWords& host);

}  // namespace riesz::app
