// SPDX-FileCopyrightText: The Riesz authors
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace riesz::detail {

/// True if the pattern of `freeze` matches the parameter's name, or the path of a module above it.
bool means_parameter(const std::string& pattern, const std::string& name);

}  // namespace riesz::detail
